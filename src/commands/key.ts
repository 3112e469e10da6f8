import { StartError } from '../base/start-error.ts'
import { UsageError, type Command } from './command.ts'
import { table, withApp } from './with-app.ts'

export const key: Command = {
  summary: 'Create, list and revoke service keys, with which your own backend calls this server',
  usage: 'sixwire key create NAME --scope SCOPE … | list | revoke ID',
  help: `create NAME      creates a key and prints it, once; --scope is repeatable:
                 "*" is everything, "store" all routes of a wire, "store:read" its GET routes
list             lists the keys, without their secrets
revoke ID        revokes a key at once

The backend sends it as "Authorization: Bearer sk_…".`,
  takesWords: true,
  options: { scope: { type: 'string', multiple: true } },
  async run([action, word, ...more], options) {
    if (more.length > 0) throw new UsageError(`"${more.join(' ')}" is too much`)
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
          ? 'say what to do'
          : `"${[action, word].filter(Boolean).join(' ')}" is not known, or lacks an argument`,
      )
    if (action === 'revoke')
      return withApp(async (app) => {
        await app.service('auth').keys.revoke(word)
        console.log(`${word} is revoked`)
        return 0
      })
    const scopes = (options['scope'] ?? []) as string[]
    if (scopes.length === 0) throw new UsageError('say what the key may do: --scope store, for example')
    return withApp(async (app) => {
      const keys = app.service('auth').keys
      const stranger = scopes.find((scope) => scope !== '*' && !app.wires.includes(scope.replace(/:.*$/, '')))
      if (stranger !== undefined)
        throw new StartError(
          `--scope ${stranger}: there is no wire "${stranger.replace(/:.*$/, '')}": there are ${app.wires.join(', ')}`,
        )
      const made = await keys.create(word, scopes)
      console.log(`${made.key}\n\nThis is shown once. Its id is ${made.id}.`)
      return 0
    })
  },
}
