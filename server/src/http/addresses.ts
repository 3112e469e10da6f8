import findMyWay from 'find-my-way'

import { errors, type ApiError } from '../base/errors.ts'
import { once } from '../base/once.ts'
import { METHODS, type Method, type Route } from './route.ts'

type Endpoint = Pick<Route, 'method' | 'path'>

/** An address and what it answers. */
export type RouteAddress = {
  readonly path: string
  readonly methods: readonly Method[]
  /** For the header `Allow`. */
  readonly allow: string
}

const withoutNames = (path: string): string => path.replaceAll(/:\w+/g, ':')

/** All addresses of the API. Those that differ only in the names of parameters are one. */
export function addressesOf(endpoints: readonly Endpoint[]): readonly RouteAddress[] {
  const byPath = Map.groupBy(endpoints, ({ path }) => withoutNames(path))
  return [...byPath.values()].map((same) => {
    const methods = same.map(({ method }) => method)
    const allow = [...(methods.includes('GET') ? ['HEAD'] : []), ...methods, 'OPTIONS'].toSorted()
    return { path: same[0]!.path, methods, allow: allow.join(', ') }
  })
}

/** What finds the address of a path, whatever its methods are, in the order of the engine. Made at the first call. */
export function createAddressFinder(
  addresses: readonly RouteAddress[],
): (path: string) => RouteAddress | undefined {
  const router = once(() => {
    const made = findMyWay({ maxParamLength: Number.MAX_SAFE_INTEGER })
    for (const address of addresses) made.on('GET', address.path, () => undefined, address)
    return made
  })
  return (path) => router().find('GET', path)?.store as RouteAddress | undefined
}

/**
 * The methods that an address does not answer, and for which the engine would find another one instead: PUT of `/store/files`,
 * where PUT `/store/:collection` is a route.
 */
export function shadowedMethods(
  addresses: readonly RouteAddress[],
): { address: RouteAddress; methods: Method[] }[] {
  const all = addresses.map((address) => ({
    address,
    steps: withoutNames(address.path).split('/').map(stepOf),
    methods: new Set<Method>(),
  }))
  // Most addresses begin with the name of their wire: those of another one are not compared.
  const byFirst = Map.groupBy(all, ({ steps: [, first] }) => (first?.isVariable ? '' : first?.text))
  const near = ({ steps: [, first] }: (typeof all)[number]) =>
    first?.isVariable ? all : [...byFirst.get(first?.text)!, ...(byFirst.get('') ?? [])]
  const overlaps = all
    .map((one) => ({ one, others: near(one).filter((other) => mayGoBefore(one.steps, other.steps)) }))
    .filter(({ others }) => others.length > 0)
  const isTaken = (method: Method) => (other: (typeof all)[number]) =>
    other.address.methods.includes(method) || other.methods.has(method)
  // What is added for one address may be found in place of another.
  for (let before = -1, count = 0; count > before;) {
    before = count
    for (const { one, others } of overlaps)
      for (const method of METHODS)
        if (!isTaken(method)(one) && others.some(isTaken(method))) {
          one.methods.add(method)
          count++
        }
  }
  return overlaps
    .map(({ one: { address, methods } }) => ({ address, methods: [...methods] }))
    .filter(({ methods }) => methods.length > 0)
}

/** What is between two slashes of an address. Looked at once, as all addresses are compared with each other. */
type AddressStep = { readonly text: string; readonly isVariable: boolean; readonly takesAll: boolean }

const stepOf = (text: string): AddressStep => ({
  text,
  isVariable: /[:*]/.test(text),
  takesAll: text.includes('*'),
})

/** Whether some path may belong to both addresses, and to the first one by rights: text goes before parameters. */
function mayGoBefore(steps: readonly AddressStep[], others: readonly AddressStep[]): boolean {
  let isFirst: boolean | undefined
  for (let at = 0; at < Math.max(steps.length, others.length); at++) {
    const [step, other] = [steps[at], others[at]]
    if (step?.text === other?.text) continue
    // It takes all that follows.
    if (step?.takesAll || other?.takesAll) return isFirst ?? true
    if (step === undefined || other === undefined || !(step.isVariable || other.isVariable)) return false
    isFirst ??= other.isVariable
  }
  return isFirst === true
}

/** What an address answers to a method that is not one of its own. */
export const refusesMethod = ({ allow }: RouteAddress): ApiError =>
  errors.method_not_allowed({ message: `This address answers ${allow} only.`, headers: { allow } })
