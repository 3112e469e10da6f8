import { requireRow, type Database } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import { authErrors } from '../../errors.ts'
import { factorsOf } from '../../factors/factor.ts'
import type { Sessions, SignIn, TokenPair } from '../../sessions/sessions.ts'
import type { UserRow } from '../../accounts/user.ts'
import type { Users } from '../../accounts/users.ts'
import type { PasskeyProof } from './assertions.ts'
import type { Passkeys } from './passkeys.ts'

type Parts = { db: Database; users: Users; sessions: Sessions; passkeys: Passkeys }

/** Signs in with a passkey alone, which says whose it is. */
export type PasskeyLogin = {
  /**
   * A passkey that verified its user is two factors: what the user has, and what they know or are. One that did not is one.
   *
   * @throws INVALID_PASSKEY, also if it did not verify its user and the account has nothing else to prove
   * @throws SECOND_FACTOR_REQUIRED if it did not verify its user
   */
  signIn(credential: unknown, client: Omit<SignIn, 'method'>): Promise<TokenPair & { user: UserRow }>
}

export const createPasskeyLogin = (parts: Parts): PasskeyLogin => ({
  async signIn(credential, client) {
    const { users, sessions, passkeys } = parts
    const refuse = (account: string, reason: string, message?: string) => {
      client.record('sign-in-failed', { account, method: 'passkey', reason })
      return authErrors.invalid_passkey(message === undefined ? {} : { message })
    }

    const proof = await passkeys.prove(credential, 'sign-in')
    if (!proof) throw refuse('unknown', 'passkey')
    const user = await users.byId(proof.userId)
    if (!user || user.disabled_at !== null) throw refuse(proof.userId, 'disabled')
    const signIn = { ...client, method: 'passkey' }
    if (proof.isUserVerified) {
      const { useSql } = proof
      return { ...(await sessions.create(user, { ...signIn, secondFactor: 'passkey', useSql })), user }
    }
    await useAlone(parts, proof)
    const others = await factorsOf(parts.db, user.id)
    if (user.second_factor_at === null || others.every((kind) => kind === 'passkey'))
      throw refuse(
        user.id,
        'unverified',
        'This passkey did not verify its user, and the account has no other second factor: set a PIN or a fingerprint for it, or sign in another way and use the passkey then.',
      )
    // It has a factor, so this throws the challenge.
    return { ...(await sessions.create(user, signIn)), user }
  },
})

/** Uses up a proof that permits no session yet. */
async function useAlone({ db }: Parts, { userId, useSql }: PasskeyProof): Promise<void> {
  await db.batch([
    requireRow(sql`select id from auth_users where id = ${userId} ${sql.sharedLock}`, () =>
      authErrors.invalid_passkey(),
    ),
    useSql,
  ])
}
