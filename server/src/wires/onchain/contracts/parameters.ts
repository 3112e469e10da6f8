import type { AbiParameter } from 'viem'

import { invalid, type ApiError } from '../../../base/errors.ts'
import { pointerTo } from '../../../base/json-pointer.ts'

/** How deep lists and structs can be in each other. */
const DEPTH_MAX = 12
/** The most parameters of a function, the fields of its structs included. */
const PARAMETERS_MAX = 500

/** The type of a parameter. */
export type Shape =
  | { kind: 'uint' | 'int'; bits: number; type: string }
  | { kind: 'address' | 'bool' | 'string' | 'bytes'; type: string }
  | { kind: 'fixed-bytes'; size: number; type: string }
  /** @param length undefined: any */
  | { kind: 'list'; of: Shape; length: number | undefined; type: string }
  | { kind: 'struct'; fields: readonly Parameter[]; type: string }

/** A parameter or the field of a struct. Its name may be empty. */
export type Parameter = { name: string; shape: Shape }

/** A parameter as it stands in an ABI in JSON. */
export type RawParameter = { name: string; type: string; components: readonly RawParameter[] | undefined }

const ARRAY = /^(.+)\[(\d*)\]$/
const INTEGER = /^(u?int)(\d{0,3})$/
const FIXED_BYTES = /^bytes(\d{1,2})$/

/**
 * Reads the types of parameters.
 *
 * @param path of the parameters in the request
 * @throws VALIDATION_ERROR if there is a type that no call can have
 * @see https://docs.soliditylang.org/en/latest/abi-spec.html#types
 */
export function readParameters(raw: readonly RawParameter[], path: string): Parameter[] {
  let count = 0

  function shapeOf({ type, components }: RawParameter, at: string, depth: number): Shape {
    const refuse = (message: string): ApiError => invalid({ path: `${at}/type`, message })
    if (depth > DEPTH_MAX) throw refuse(`is nested more than ${DEPTH_MAX} levels deep`)
    const [, element, length] = ARRAY.exec(type) ?? []
    if (element !== undefined && length !== undefined) {
      const of = shapeOf({ name: '', type: element, components }, at, depth + 1)
      const size = length === '' ? undefined : Number(length)
      if (size === 0 || (size ?? 0) > 2 ** 32) throw refuse(`${type} is not a list that a call can have`)
      return { kind: 'list', of, length: size, type: `${of.type}[${size ?? ''}]` }
    }
    if (type === 'tuple') {
      if (!components?.length) throw refuse('needs components, the fields of the struct')
      const fields = listOf(components, `${at}/components`, depth + 1)
      return { kind: 'struct', fields, type: `(${fields.map(({ shape }) => shape.type).join(',')})` }
    }
    return elementaryOf(type) ?? refuseType(refuse)
  }

  function listOf(parameters: readonly RawParameter[], at: string, depth: number): Parameter[] {
    count += parameters.length
    if (count > PARAMETERS_MAX)
      throw invalid({ path: at, message: `has more than ${PARAMETERS_MAX} parameters` })
    return parameters.map((one, index) => ({
      name: one.name,
      shape: shapeOf(one, pointerTo(at, index), depth),
    }))
  }

  return listOf(raw, path, 0)
}

function refuseType(refuse: (message: string) => ApiError): never {
  throw refuse('is no type that can be used here, such as uint256, address, bytes32, string, tuple or bool[]')
}

function elementaryOf(type: string): Shape | undefined {
  if (type === 'address' || type === 'bool' || type === 'string' || type === 'bytes')
    return { kind: type, type }
  // A contract's address and a selector.
  if (type === 'function') return { kind: 'fixed-bytes', size: 24, type }
  const [, sign, digits] = INTEGER.exec(type) ?? []
  if (sign !== undefined) {
    const bits = digits === '' ? 256 : Number(digits)
    const isKnown = bits >= 8 && bits <= 256 && bits % 8 === 0 && !digits!.startsWith('0')
    return isKnown ? { kind: sign as 'uint' | 'int', bits, type: `${sign}${bits}` } : undefined
  }
  const size = Number(FIXED_BYTES.exec(type)?.[1])
  return size >= 1 && size <= 32 && type === `bytes${size}` ? { kind: 'fixed-bytes', size, type } : undefined
}

/** The names of a struct's fields or of outputs, if they can be the members of an object. */
export function namesOf(parameters: readonly Parameter[]): readonly string[] | undefined {
  const names = parameters.map(({ name }) => name)
  return names.every((name) => name !== '') && new Set(names).size === names.length ? names : undefined
}

/**
 * The parameters as words: what values are before and after the rules of their types, which `arguments.ts` and `result.ts`
 * check. They have no names, because viem makes members of them.
 */
export const wordsOf = (parameters: readonly Parameter[]): AbiParameter[] =>
  parameters.map(({ shape }) => wordOf(shape))

function wordOf(shape: Shape): AbiParameter {
  switch (shape.kind) {
    case 'uint':
    case 'address':
      return { type: 'uint256' }
    case 'int':
      return { type: 'int256' }
    case 'bool':
      return { type: 'bool' }
    case 'fixed-bytes':
      return { type: 'bytes32' }
    case 'string':
    case 'bytes':
      return { type: 'bytes' }
    case 'struct':
      return { type: 'tuple', components: wordsOf(shape.fields) }
    case 'list': {
      const word = wordOf(shape.of)
      return { ...word, type: `${word.type}[${shape.length ?? ''}]` }
    }
  }
}
