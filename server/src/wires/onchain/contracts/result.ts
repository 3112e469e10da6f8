import type { Hex } from '../../../base/hex.ts'
import { getAddress } from '../../../base/viem.ts'
import { rangeOf } from './arguments.ts'
import { namesOf, type Parameter, type Shape } from './parameters.ts'

/** The most bytes that a contract may answer. */
export const ANSWER_MAX = 262_144
/** The most characters of a result; the names of fields stand in it once for each struct. */
const TEXT_MAX = 4 * 1_048_576
const WORD = 32

/** A value as JSON has it, integers as text. */
type Json = string | boolean | readonly Json[] | { readonly [name: string]: Json }

/** That data are not what the outputs of a function say. */
class Misfit extends Error {}

/**
 * Writes what a function of a contract answers: an integer in decimal, an address in EIP-55 form, `true` or `false`, a string
 * as it is, bytes in hex; a list or a struct as JSON, in which integers are strings. Several outputs are a list, or an object
 * if all of them have names. Without outputs it is empty.
 *
 * @returns undefined if the data do not fit the outputs
 */
export function readResult(outputs: readonly Parameter[], data: Hex): string | undefined {
  if (outputs.length === 0) return ''
  let value: Json
  try {
    const values = decode(outputs, Buffer.from(data.slice(2), 'hex'))
    value = values.length === 1 ? values[0]! : membersOf(outputs, values)
  } catch (error) {
    if (error instanceof Misfit) return undefined
    throw error
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > TEXT_MAX ? undefined : text
}

const membersOf = (parameters: readonly Parameter[], values: readonly Json[]): Json => {
  const names = namesOf(parameters)
  return names ? Object.fromEntries(names.map((name, at) => [name, values[at]!])) : values
}

/**
 * Reads the values of parameters. viem's decoder takes half a second for 256 KiB whose offsets all lead to the same bytes.
 *
 * @throws Misfit
 * @see https://docs.soliditylang.org/en/latest/abi-spec.html#formal-specification-of-the-encoding
 */
function decode(parameters: readonly Parameter[], data: Buffer): Json[] {
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
  const sizes = new Map<Shape, number | undefined>()
  // An encoding has each byte once; offsets that overlap make more of it.
  let remaining = 2 * data.length

  function bytesAt(at: number, length: number): Buffer {
    remaining -= length
    if (at + length > data.length || remaining < 0) throw new Misfit()
    return data.subarray(at, at + length)
  }
  const uintAt = (at: number): bigint => BigInt(hexOf(bytesAt(at, WORD)))
  /** An offset or a length. */
  function countAt(at: number): number {
    const count = uintAt(at)
    if (count > BigInt(data.length)) throw new Misfit()
    return Number(count)
  }

  /** The bytes that a value takes where it stands; undefined if there is an offset to it. */
  function sizeOf(shape: Shape): number | undefined {
    if (!sizes.has(shape)) sizes.set(shape, sizeIn(shape, sizeOf))
    return sizes.get(shape)
  }

  /** @param start of what the offset in it counts from */
  function valueAt(shape: Shape, head: number, start: number): Json {
    const at = sizeOf(shape) === undefined ? start + countAt(head) : head
    switch (shape.kind) {
      case 'uint':
        return checked(shape, uintAt(at)).toString()
      case 'int':
        return checked(shape, BigInt.asIntN(256, uintAt(at))).toString()
      case 'address': {
        const digits = checked({ kind: 'uint', bits: 160 }, uintAt(at)).toString(16)
        return getAddress(`0x${digits.padStart(40, '0')}`)
      }
      case 'bool':
        return checked({ kind: 'uint', bits: 1 }, uintAt(at)) === 1n
      case 'string':
        return utf8.decode(bytesAt(at + WORD, countAt(at)))
      case 'bytes':
        return hexOf(bytesAt(at + WORD, countAt(at)))
      case 'fixed-bytes': {
        const word = bytesAt(at, WORD)
        if (word.subarray(shape.size).some((byte) => byte !== 0)) throw new Misfit()
        return hexOf(word.subarray(0, shape.size))
      }
      case 'list': {
        const first = shape.length === undefined ? at + WORD : at
        const length = shape.length ?? countAt(at)
        const size = sizeOf(shape.of) ?? WORD
        const values: Json[] = []
        for (let index = 0; index < length; index++)
          values.push(valueAt(shape.of, first + index * size, first))
        return values
      }
      case 'struct':
        return membersOf(shape.fields, valuesAt(shape.fields, at))
    }
  }

  function valuesAt(fields: readonly Parameter[], start: number): Json[] {
    let head = start
    return fields.map(({ shape }) => {
      const value = valueAt(shape, head, start)
      head += sizeOf(shape) ?? WORD
      return value
    })
  }

  return valuesAt(parameters, 0)
}

function sizeIn(shape: Shape, sizeOf: (shape: Shape) => number | undefined): number | undefined {
  if (shape.kind === 'string' || shape.kind === 'bytes') return undefined
  if (shape.kind === 'list') {
    const one = sizeOf(shape.of)
    return one === undefined || shape.length === undefined ? undefined : one * shape.length
  }
  if (shape.kind !== 'struct') return WORD
  let sum = 0
  for (const field of shape.fields) {
    const one = sizeOf(field.shape)
    if (one === undefined) return undefined
    sum += one
  }
  return sum
}

const hexOf = (bytes: Buffer): Hex => `0x${bytes.toString('hex')}`

/** A contract compiled by Solidity refuses such words as well. */
function checked(type: { kind: 'uint' | 'int'; bits: number }, word: bigint): bigint {
  const [least, greatest] = rangeOf(type)
  if (word < least || word > greatest) throw new Misfit()
  return word
}
