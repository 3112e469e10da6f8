import type { RouteGroup } from './route.ts'

/** Every scope that a service key may have: `*`, each wire, that with `:read`, and the scopes of routes. */
export const scopesOf = (groups: readonly RouteGroup[]): readonly string[] => [
  '*',
  ...new Set(
    groups.flatMap(({ wire, routes }) => [
      wire,
      `${wire}:read`,
      ...routes.flatMap(({ spec }) => spec.scope ?? []),
    ]),
  ),
]

/** Why a text is none of the scopes that there are; undefined if it is one. */
export function scopeFault(scope: string, known: readonly string[]): string | undefined {
  if (known.includes(scope)) return undefined
  const wire = scope.replace(/:.*$/s, '')
  const near = known.filter((one) => one.split(':')[0] === wire)
  if (near.length > 0 && wire !== '*') return `must be one of ${near.join(', ')}`
  const wires = known.filter((one) => one !== '*' && !one.includes(':'))
  return `must be * or begin with a wire that is loaded: ${wires.join(', ')}`
}
