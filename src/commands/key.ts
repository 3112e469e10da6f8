import { StartError } from '../base/start-error.ts'
import type { RouteGroup } from '../http/route.ts'
import { UsageError, type Command } from './command.ts'
import { table, withApp } from './with-app.ts'

export const key: Command = {
  summary: 'Create, list and revoke service keys, with which your own backend calls this server',
  usage: 'sixwire key create NAME --scope SCOPE … | list | revoke ID',
  help: `create NAME      creates a key and prints it, once; repeat --scope for several scopes:
                 "*" everything, "store" all routes of a wire, "store:read" its GET routes,
                 "pay:refund" the routes with this scope, as /docs names it
list             lists the keys, without the secrets
revoke ID        revokes a key at once

The backend sends the key as "Authorization: Bearer sk_…".`,
  takesWords: true,
  options: { scope: { type: 'string', multiple: true } },
  async run([action, word, ...more], options) {
    if (more.length > 0) throw new UsageError(`"${more.join(' ')}" is one argument too many`)
    if (action === 'list' && word === undefined)
      return withApp(async (app) => {
        const keys = await app.service('auth').keys.list()
        console.log(
          table(
            ['ID', 'NAME', 'SCOPES', 'CREATED', 'LAST USED', 'STATE'],
            keys.map((k) => [
              k.id,
              k.name,
              k.scopes.join(' '),
              k.createdAt,
              k.lastUsedAt ?? 'never',
              k.revokedAt ? 'revoked' : 'active',
            ]),
          ),
        )
        return 0
      })
    if (word === undefined || (action !== 'create' && action !== 'revoke'))
      throw new UsageError(
        action === undefined
          ? 'name an action: create, list, revoke'
          : `"${[action, word].filter(Boolean).join(' ')}" is not an action, or its argument is missing`,
      )
    if (action === 'revoke')
      return withApp(async (app) => {
        await app.service('auth').keys.revoke(word)
        console.log(`${word} is revoked`)
        return 0
      })
    const scopes = (options['scope'] ?? []) as string[]
    if (scopes.length === 0)
      throw new UsageError('a key needs at least one scope: --scope store, for example')
    return withApp(async (app) => {
      const keys = app.service('auth').keys
      const known = scopesOf(app.routes)
      const unknownScope = scopes.find((scope) => !known.includes(scope))
      if (unknownScope !== undefined) throw new StartError(unknownLine(unknownScope, app.wires, known))
      const created = await keys.create(word, scopes)
      console.log(`${created.key}\n\nThe key is shown once. Its id is ${created.id}.`)
      return 0
    })
  },
}

/** Every scope that a key may have. */
const scopesOf = (groups: readonly RouteGroup[]): string[] => [
  '*',
  ...new Set(
    groups.flatMap(({ wire, routes }) => [
      wire,
      `${wire}:read`,
      ...routes.flatMap(({ spec }) => spec.scope ?? []),
    ]),
  ),
]

function unknownLine(scope: string, wires: readonly string[], known: readonly string[]): string {
  const wire = scope.replace(/:.*$/, '')
  return wires.includes(wire)
    ? `--scope ${scope}: use one of ${known.filter((one) => one.split(':')[0] === wire).join(', ')}`
    : `--scope ${scope}: there is no wire "${wire}": use one of ${wires.join(', ')}`
}
