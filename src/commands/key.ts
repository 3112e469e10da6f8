import { StartError } from '../base/start-error.ts'
import { UsageError, type Command } from './command.ts'
import { table, withApp } from './with-app.ts'

export const key: Command = {
  summary: 'Create, list and revoke service keys, with which your own backend calls this server',
  usage: 'sixwire key create NAME --scope SCOPE … | list | revoke ID',
  help: `create NAME      creates a key and prints it, once; repeat --scope for several scopes:
                 "*" everything, "store" all routes of a wire, "store:read" its GET routes
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
      const unknownScope = scopes.find(
        (scope) => scope !== '*' && !app.wires.includes(scope.replace(/:.*$/, '')),
      )
      if (unknownScope !== undefined)
        throw new StartError(
          `--scope ${unknownScope}: there is no wire "${unknownScope.replace(/:.*$/, '')}": use one of ${app.wires.join(', ')}`,
        )
      const created = await keys.create(word, scopes)
      console.log(`${created.key}\n\nThe key is shown once. Its id is ${created.id}.`)
      return 0
    })
  },
}
