import { hash } from 'node:crypto'

import type { Abi } from 'viem'

import type { Hex } from '../../../base/hex.ts'
import { keccak256 } from '../../../base/viem.ts'
import { BoundedMap } from '../../../base/bounded-map.ts'
import { didYouMean } from '../../../base/did-you-mean.ts'
import { invalid, type ApiError } from '../../../base/errors.ts'
import { pointerTo } from '../../../base/json-pointer.ts'
import { readParameters, type Parameter, type RawParameter } from './parameters.ts'
import { standardAbi, STANDARDS, type StandardInterface } from './standard-interfaces.ts'

export const ITEMS_MAX = 500
const PATH = '/body/abi'
const IDENTIFIER = /^[A-Za-z_$][\w$]{0,99}$/
const TYPE_MAX = 200
/** `0x` and four bytes. */
const SELECTOR_LENGTH = 10
const SHOWN_MAX = 20
const VIEWS: ReadonlySet<unknown> = new Set(['view', 'pure'])
/** ABIs that are remembered, and how long their JSON can be. */
const KNOWN_MAX = 100
const KNOWN_LENGTH_MAX = 100_000

type AbiError = Extract<Abi[number], { type: 'error' }>

/** A function of a contract. */
export type ContractFunction = {
  /** `balanceOf(address)` */
  signature: string
  selector: Hex
  inputs: readonly Parameter[]
  outputs: readonly Parameter[]
  /** Whether it changes nothing. */
  isView: boolean
  isPayable: boolean
}

/** What an ABI says. */
export type ContractAbi = {
  /** In errors: `erc20`, or `this ABI`. */
  name: string
  /** The custom errors. */
  errors: Abi
  /**
   * Finds a function.
   *
   * @param method a name, or a signature, which tells overloads with the same number of arguments apart
   * @throws VALIDATION_ERROR if there is none, or more than one
   */
  functionOf(method: string, args: readonly unknown[]): ContractFunction
}

/**
 * Makes the function that reads an ABI, which is remembered: most requests of an application have the same few.
 *
 * @returns a function that takes the name of a standard interface, or an ABI in JSON as compilers write it
 * @throws VALIDATION_ERROR if it is neither
 * @see https://docs.soliditylang.org/en/latest/abi-spec.html#json
 */
export function createAbis(): (abi: string | readonly unknown[]) => ContractAbi {
  const cache = new BoundedMap<string, ContractAbi>(KNOWN_MAX)
  return (abi) => {
    if (typeof abi === 'string') {
      const name = abi.toLowerCase() as StandardInterface
      if (!STANDARDS.includes(name))
        throw invalid({
          path: PATH,
          message: `must be one of ${STANDARDS.join(', ')}, or an ABI as an array`,
        })
      const stored = cache.get(name) ?? readAbi(name, standardAbi(name))
      cache.set(name, stored)
      return stored
    }
    const text = JSON.stringify(abi)
    if (text.length > KNOWN_LENGTH_MAX) return readAbi('this ABI', abi)
    const key = hash('sha256', text)
    const stored = cache.get(key) ?? readAbi('this ABI', abi)
    cache.set(key, stored)
    return stored
  }
}

function readAbi(name: string, items: readonly unknown[]): ContractAbi {
  const functions = new Map<string, Lazy[]>()
  const errors: AbiError[] = []
  for (const [index, one] of items.entries()) {
    const at = pointerTo(PATH, index)
    const item = objectAt(one, at)
    const { type = 'function' } = item
    if (type === 'function') {
      const own = functionAt(item, at)
      functions.set(own.name, [...(functions.get(own.name) ?? []), own])
    }
    if (type === 'error') errors.push(...errorAt(item, at))
  }

  const missing = (method: string): ApiError => {
    const names = [...functions.keys()]
    const hint =
      didYouMean(method, names) || (names.length <= SHOWN_MAX ? `, which has ${names.join(', ')}` : '')
    return refuse(`is no function of ${name}${hint}`)
  }

  return {
    name,
    errors,
    functionOf(method, args) {
      const [wantedName = ''] = method.split('(', 1)
      const all = functions.get(wantedName.trim())?.map((one) => one.compiled())
      if (!all) throw missing(wantedName.trim())
      const signatures = all.map(({ signature }) => signature).join(', ')
      const signature = method.includes('(') ? canonical(method) : undefined
      const candidates = signature === undefined ? all : all.filter((one) => one.signature === signature)
      if (candidates.length === 0) throw refuse(`is no function of ${name}, which has ${signatures}`)
      const fitting = candidates.filter(({ inputs }) => inputs.length === args.length)
      if (fitting.length === 0)
        throw invalid({
          path: '/body/args',
          message: `has ${args.length} elements, which does not fit ${candidates.map((one) => one.signature).join(', ')}`,
        })
      if (fitting.length > 1)
        throw refuse(
          `is ambiguous: send one of the signatures ${fitting.map((one) => one.signature).join(', ')}`,
        )
      return fitting[0]!
    },
  }
}

const refuse = (message: string): ApiError => invalid({ path: '/body/method', message })

/** A signature as it is hashed: without spaces, and with `uint256` instead of `uint`. */
const canonical = (signature: string): string =>
  signature.replaceAll(/\s/g, '').replaceAll(/(?<=[(,])(u?int)(?=[,)[])/g, '$1256')

/** A function that is compiled when it is first called: a contract has many. */
type Lazy = { name: string; compiled(): ContractFunction }

function functionAt(item: Readonly<Record<string, unknown>>, at: string): Lazy {
  const name = nameAt(item['name'], `${at}/name`)
  const [inputs, outputs] = (['inputs', 'outputs'] as const).map((field) =>
    parametersAt(item[field], `${at}/${field}`),
  )
  const { stateMutability, constant, payable } = item
  let memo: ContractFunction | undefined
  return {
    name,
    compiled() {
      if (memo) return memo
      const parameters = readParameters(inputs!, `${at}/inputs`)
      const signature = `${name}(${parameters.map(({ shape }) => shape.type).join(',')})`
      memo = {
        signature,
        selector: keccak256(Buffer.from(signature)).slice(0, SELECTOR_LENGTH) as Hex,
        inputs: parameters,
        outputs: readParameters(outputs!, `${at}/outputs`),
        // Compilers before Solidity 0.5 wrote the two others instead.
        isView: stateMutability === undefined ? constant === true : VIEWS.has(stateMutability),
        isPayable: stateMutability === undefined ? payable === true : stateMutability === 'payable',
      }
      return memo
    },
  }
}

/** An error is for its name only: one that cannot be read is left out. */
function errorAt(item: Readonly<Record<string, unknown>>, at: string): AbiError[] {
  const name = nameAt(item['name'], `${at}/name`)
  const inputs = parametersAt(item['inputs'], `${at}/inputs`)
  try {
    readParameters(inputs, at)
  } catch {
    return []
  }
  return [{ type: 'error', name, inputs }]
}

function parametersAt(value: unknown, at: string): RawParameter[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw invalid({ path: at, message: 'must be an array' })
  return value.map((one: unknown, index) => {
    const path = pointerTo(at, index)
    const { name, type, components } = objectAt(one, path)
    if (typeof type !== 'string' || type.length > TYPE_MAX)
      throw invalid({ path: `${path}/type`, message: 'must be a type such as uint256' })
    return {
      name: name === undefined || name === '' ? '' : nameAt(name, `${path}/name`),
      type,
      components: components === undefined ? undefined : parametersAt(components, `${path}/components`),
    }
  })
}

function objectAt(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw invalid({ path, message: 'must be an object, as compilers write it in JSON' })
}

/** `__proto__` would be an identifier, and no member of an object. */
function nameAt(value: unknown, path: string): string {
  if (typeof value === 'string' && IDENTIFIER.test(value) && value !== '__proto__') return value
  throw invalid({ path, message: 'must be a name of letters, digits, _ and $' })
}
