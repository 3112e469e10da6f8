import type { ClientPasskey, ClientPasskeys } from '../auth-types.ts'
import type { Ceremonies } from './ceremonies.ts'
import type { AuthOwner, Begin } from './owner.ts'

const ONE = '/auth/passkeys/:id'

/** The passkeys of the user, and signing in with one. */
export function passkeysOf(
  { call }: AuthOwner,
  begin: Begin,
  ceremonies: Ceremonies,
): Omit<ClientPasskeys, 'isSupported'> {
  return {
    async create({ name } = {}) {
      const passkey = await ceremonies.ask('create', () => call('POST /auth/passkeys/options', { body: {} }))
      const body = { passkey, ...(name !== undefined && { name }) }
      return (await call('POST /auth/passkeys', { body })) as Awaited<ReturnType<ClientPasskeys['create']>>
    },

    async signIn({ conditional, signal } = {}) {
      const load = () => call('POST /auth/passkeys/sign-in-options', { token: null, body: {}, signal })
      const passkey = await ceremonies.ask('get', load, {
        signal,
        mediation: conditional ? 'conditional' : undefined,
      })
      return begin('POST /auth/passkeys/sign-in', { passkey })
    },

    async list() {
      return ((await call('GET /auth/passkeys', {})) as { passkeys: ClientPasskey[] }).passkeys
    },

    async rename(id, name) {
      const renamed = await call(`PATCH ${ONE}`, { params: { id }, body: { name } })
      return (renamed as { passkey: ClientPasskey }).passkey
    },

    async remove(id) {
      await call(`DELETE ${ONE}`, { params: { id } })
    },
  }
}
