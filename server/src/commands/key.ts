import { StartError } from '../base/start-error.ts'
import { scopeFault, scopesOf } from '../http/scopes.ts'
import { defineAction, UsageError, type CommandGroup } from './command.ts'
import { JSON_OPTION } from './option.ts'
import { print, table } from './print.ts'
import { withApp } from './with-app.ts'

export const key: CommandGroup = {
  summary: 'Create, list and revoke service keys, with which your own backend calls this server',
  actions: {
    create: defineAction({
      summary: 'Create a key and print it, once',
      words: ['NAME'],
      options: {
        scope: { value: 'SCOPE', multiple: true, description: 'what it may call; repeat it for several' },
        ...JSON_OPTION,
      },
      details: `SCOPE is "*" for everything, "store" for all routes of a wire, "store:read" for its GET routes,
or "pay:refund" for the routes with this scope, as /docs names it.`,
      async run({ words: [name], options: { scope: scopes, json } }) {
        if (scopes.length === 0)
          throw new UsageError('a key needs at least one scope: --scope store, for example')
        return withApp(async (app) => {
          const knownScopes = scopesOf(app.routes)
          for (const scope of scopes) {
            const fault = scopeFault(scope, knownScopes)
            if (fault !== undefined) throw new StartError(`--scope ${scope}: it ${fault}`)
          }
          const created = await app.service('auth').keys.create(name, scopes)
          print(
            json,
            { ...created, name, scopes },
            () => `${created.key}\n\nThe key is shown once. Its id is ${created.id}.`,
          )
          return 0
        })
      },
    }),
    list: defineAction({
      summary: 'List the keys, without the secrets',
      options: JSON_OPTION,
      run: ({ options: { json } }) =>
        withApp(async (app) => {
          const keys = await app.service('auth').keys.list()
          print(json, keys, () =>
            table(
              ['ID', 'NAME', 'SCOPES', 'CREATED', 'LAST USED', 'STATE'],
              keys.map((one) => [
                one.id,
                one.name,
                one.scopes.join(' '),
                one.createdAt,
                one.lastUsedAt ?? 'never',
                one.revokedAt ? 'revoked' : 'active',
              ]),
            ),
          )
          return 0
        }),
    }),
    revoke: defineAction({
      summary: 'Revoke a key at once',
      words: ['ID'],
      run: ({ words: [id] }) =>
        withApp(async (app) => {
          await app.service('auth').keys.revoke(id)
          console.log(`${id} is revoked`)
          return 0
        }),
    }),
  },
  details: 'The backend sends the key as "Authorization: Bearer sk_…".',
}
