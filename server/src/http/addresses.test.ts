import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'
import findMyWay, { type HTTPMethod } from 'find-my-way'

import { addressesOf, createAddressFinder, shadowedMethods, type RouteAddress } from './addresses.ts'
import { METHODS } from './route.ts'

const step = fc.constantFrom('a', 'b', ':x', ':y', ':x.json', 'a:x')
const end = fc.constantFrom([], ['*'])
const pattern = fc
  .tuple(fc.array(step, { minLength: 1, maxLength: 3 }), end)
  .map(([steps, last]) => `/${[...steps, ...last].join('/')}`)
  // The engine refuses two parameters of one name.
  .map((path) => path.replaceAll(/:[xy]/g, () => ':p').replaceAll(/:p/g, (_, at: number) => `:p${at}`))
const endpoint = fc.record({ method: fc.constantFrom(...METHODS), path: pattern })
const path = fc
  .array(fc.constantFrom('a', 'b', 'c', 'a.json', 'ab', 'b%61'), { minLength: 1, maxLength: 4 })
  .map((steps) => `/${steps.join('/')}`)

/** The path of a route that answers, or "405" with that of the address. */
type Outcome = string | undefined

function add(
  router: ReturnType<typeof findMyWay>,
  methods: readonly string[],
  address: RouteAddress,
  outcome: string,
) {
  if (methods.length > 0) router.on(methods as HTTPMethod[], address.path, () => undefined, outcome)
}

/** Every address has routes for all methods. */
function withAllRoutes(addresses: readonly RouteAddress[]): (method: string, path: string) => Outcome {
  const router = findMyWay()
  for (const one of addresses) {
    add(router, one.methods, one, one.path)
    add(
      router,
      METHODS.filter((method) => !one.methods.includes(method)),
      one,
      `405 ${one.path}`,
    )
  }
  return (method, at) => router.find(method as HTTPMethod, at)?.store as Outcome
}

/** Only those that the engine needs. */
function withFewRoutes(addresses: readonly RouteAddress[]): (method: string, path: string) => Outcome {
  const router = findMyWay()
  const find = createAddressFinder(addresses)
  for (const one of addresses) add(router, one.methods, one, one.path)
  for (const { address, methods } of shadowedMethods(addresses))
    add(router, methods, address, `405 ${address.path}`)
  return (method, at) => {
    const found = router.find(method as HTTPMethod, at)
    if (found) return found.store as string
    const address = find(at)
    return address && `405 ${address.path}`
  }
}

test('a method is refused by the address that a path belongs to, as if each had a route for it', () => {
  fc.assert(
    fc.property(
      fc.array(endpoint, { minLength: 1, maxLength: 8 }),
      fc.array(path, { minLength: 1, maxLength: 8 }),
      (endpoints, paths) => {
        const addresses = addressesOf(
          endpoints.filter(
            (one, at) =>
              !endpoints.slice(0, at).some((two) => two.method === one.method && two.path === one.path),
          ),
        )
        const [expected, actual] = [withAllRoutes(addresses), withFewRoutes(addresses)]
        for (const one of paths)
          for (const method of METHODS)
            assert.equal(actual(method, one), expected(method, one), `${method} ${one}`)
      },
    ),
    { numRuns: 300 },
  )
})
