import type { ClientTotp, RecoveryCodeList } from '../auth-types.ts'
import type { AuthOwner } from './owner.ts'

/** The authenticator app of the user. */
export function totpOf({ call }: AuthOwner): ClientTotp {
  return {
    async offer() {
      return (await call('POST /auth/totp', {})) as Awaited<ReturnType<ClientTotp['offer']>>
    },

    async verify(code) {
      const { recoveryCodes } = (await call('POST /auth/totp/verify', { body: { code } })) as RecoveryCodeList
      return { ...(recoveryCodes && { recoveryCodes }) }
    },

    async remove() {
      await call('DELETE /auth/totp', {})
    },
  }
}
