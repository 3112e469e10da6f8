import type { Hex } from 'viem'
import { decodeAbiParameters, getAddress } from 'viem/utils'

import { rangeOf } from './arguments.ts'
import { namesOf, wordsOf, type Parameter, type Shape } from './parameters.ts'

/** The most bytes that a contract may answer. */
export const ANSWER_MAX = 262_144
/** The most characters of a result; the names of fields stand in it once for each struct. */
const TEXT_MAX = 4 * 1_048_576

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
  let values: Json[]
  try {
    // viem limits what offsets that overlap can make of the data.
    const words = decodeAbiParameters(wordsOf(outputs), data)
    values = outputs.map(({ shape }, at) => valueOf(shape, words[at]))
  } catch {
    return undefined
  }
  const value = values.length === 1 ? values[0]! : membersOf(outputs, values)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > TEXT_MAX ? undefined : text
}

const membersOf = (parameters: readonly Parameter[], values: readonly Json[]): Json => {
  const names = namesOf(parameters)
  return names ? Object.fromEntries(names.map((name, at) => [name, values[at]!])) : values
}

function valueOf(shape: Shape, word: unknown): Json {
  switch (shape.kind) {
    case 'uint':
    case 'int':
      return checked(shape, word as bigint).toString()
    case 'address': {
      const digits = checked({ kind: 'uint', bits: 160 }, word as bigint).toString(16)
      return getAddress(`0x${digits.padStart(40, '0')}`)
    }
    case 'bool':
      return word as boolean
    case 'string':
      return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from((word as Hex).slice(2), 'hex'))
    case 'bytes':
      return word as Hex
    case 'fixed-bytes': {
      const end = 2 + 2 * shape.size
      if (/[^0]/.test((word as Hex).slice(end))) throw new Misfit()
      return (word as Hex).slice(0, end)
    }
    case 'list':
      return (word as unknown[]).map((one) => valueOf(shape.of, one))
    case 'struct':
      return membersOf(
        shape.fields,
        shape.fields.map((field, at) => valueOf(field.shape, (word as unknown[])[at])),
      )
  }
}

/** A contract compiled by Solidity refuses such words as well. */
function checked(type: { kind: 'uint' | 'int'; bits: number }, word: bigint): bigint {
  const [least, greatest] = rangeOf(type)
  if (word < least || word > greatest) throw new Misfit()
  return word
}
