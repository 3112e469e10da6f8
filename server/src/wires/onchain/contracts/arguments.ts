import type { Hex } from '../../../base/hex.ts'
import { encodeAbiParameters } from '../../../base/viem.ts'
import { invalid, ISSUES_SHOWN, type Issue } from '../../../base/errors.ts'
import { pointerTo } from '../../../base/json-pointer.ts'
import { hasChecksum } from '../chains/address.ts'
import { namesOf, wordsOf, type Parameter, type Shape } from './parameters.ts'

/** Values in all arguments together. */
const VALUES_MAX = 10_000
/** What nodes take as a transaction at most. */
const BYTES_MAX = 131_072

const INTEGER = /^(?:0|-?[1-9]\d{0,77})$/
const HEX = /^0x(?:[0-9a-fA-F]{2})*$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** A value as `wordsOf` has it. */
type Word = bigint | boolean | Hex | readonly Word[]

/**
 * Encodes the arguments of a call.
 *
 * @param args JSON values, as many as there are parameters
 * @param path of the arguments in the request
 * @throws VALIDATION_ERROR with all that is wrong
 * @see https://docs.soliditylang.org/en/latest/abi-spec.html#formal-specification-of-the-encoding
 */
export function encodeArguments(
  parameters: readonly Parameter[],
  args: readonly unknown[],
  path: string,
): Hex {
  const issues: Issue[] = []
  let count = 0

  /** Notes what is wrong; the word is then of no use. */
  function fault(at: string, message: string): Word {
    // What is not shown is not looked for: a small request can have millions of faults.
    if (issues.push({ path: at, message }) >= ISSUES_SHOWN) throw invalid(...issues)
    return 0n
  }

  function wordOf(shape: Shape, value: unknown, at: string): Word {
    if (++count > VALUES_MAX) {
      if (count === VALUES_MAX + 1) issues.unshift({ path, message: `have more than ${VALUES_MAX} values` })
      return 0n
    }
    switch (shape.kind) {
      case 'uint':
      case 'int':
        return integerOf(shape, value, (message) => fault(at, message))
      case 'bool':
        return typeof value === 'boolean' ? value : fault(at, 'must be true or false')
      case 'string':
        return typeof value === 'string' ? hexOf(Buffer.from(value)) : fault(at, 'must be a string')
      case 'address':
        if (typeof value !== 'string' || !ADDRESS.test(value))
          return fault(at, 'must be an address: 0x and 40 hexadecimal digits')
        return hasChecksum(value)
          ? BigInt(value.toLowerCase())
          : fault(at, 'has a wrong checksum (EIP-55): a digit or its case was mistyped')
      case 'bytes':
        return typeof value === 'string' && HEX.test(value)
          ? (value as Hex)
          : fault(at, 'must be bytes: 0x and an even number of hexadecimal digits')
      case 'fixed-bytes':
        return typeof value === 'string' && HEX.test(value) && value.length === 2 + 2 * shape.size
          ? (value.padEnd(66, '0') as Hex)
          : fault(at, `must be ${shape.size} bytes: 0x and ${2 * shape.size} hexadecimal digits`)
      case 'list':
        return listOf(shape, value, at)
      case 'struct':
        return structOf(shape.fields, value, at)
    }
  }

  function listOf({ of, length }: Shape & { kind: 'list' }, value: unknown, at: string): Word {
    if (!Array.isArray(value)) return fault(at, 'must be an array')
    if (length !== undefined && value.length !== length)
      return fault(at, `must have ${length} elements, not ${value.length}`)
    const words: Word[] = []
    for (const [index, one] of value.entries()) {
      if (count > VALUES_MAX) break
      words.push(wordOf(of, one, pointerTo(at, index)))
    }
    return words
  }

  function structOf(fields: readonly Parameter[], value: unknown, at: string): Word {
    if (Array.isArray(value))
      return value.length === fields.length
        ? fields.map(({ shape }, index) => wordOf(shape, value[index], pointerTo(at, index)))
        : fault(at, `must have ${fields.length} elements, one a field, not ${value.length}`)
    const names = namesOf(fields)
    if (!names) return fault(at, 'must be an array: not all fields of this struct have names of their own')
    if (typeof value !== 'object' || value === null)
      return fault(at, 'must be an object with the fields of the struct, or an array')
    for (const name of Object.keys(value))
      if (!names.includes(name))
        fault(pointerTo(at, name), `is no field of this struct, which has ${names.join(', ')}`)
    return fields.map(({ name, shape }) =>
      Object.hasOwn(value, name)
        ? wordOf(shape, (value as Record<string, unknown>)[name], pointerTo(at, name))
        : fault(pointerTo(at, name), 'is required'),
    )
  }

  const words = parameters.map(({ shape }, index) => wordOf(shape, args[index], pointerTo(path, index)))
  if (issues.length > 0) throw invalid(...issues)
  const encoding = encodeAbiParameters(wordsOf(parameters), words)
  if (encoding.length > 2 + 2 * BYTES_MAX)
    throw invalid({ path, message: `are more than ${BYTES_MAX} bytes as the contract gets them` })
  return encoding
}

/** The least and the greatest value of an integer type. */
export function rangeOf({ kind, bits }: { kind: 'uint' | 'int'; bits: number }): [bigint, bigint] {
  const half = 2n ** BigInt(bits - 1)
  return kind === 'int' ? [-half, half - 1n] : [0n, 2n * half - 1n]
}

function integerOf(
  shape: Shape & { kind: 'uint' | 'int' },
  value: unknown,
  fault: (message: string) => Word,
): Word {
  const isExact = typeof value === 'string' ? INTEGER.test(value) : Number.isSafeInteger(value)
  if (!isExact)
    return fault(
      `must be a whole number (${shape.type}): a decimal string like "1000", or a JSON number up to 2^53 - 1`,
    )
  const integer = BigInt(value as string | number)
  const [least, greatest] = rangeOf(shape)
  return integer < least || integer > greatest
    ? fault(`is out of range: ${shape.type} is from ${least} to ${greatest}`)
    : integer
}

const hexOf = (bytes: Buffer): Hex => `0x${bytes.toString('hex')}`
