import type { Sql } from '../../db/sql.ts'
import type { WireContext } from '../../wire.ts'
import type { Messaging } from '../messaging/index.ts'
import type { Users } from './users.ts'

/** Tells an account's owner by mail that somebody signed in with a provider for the first time. */
export type SignInNotice = {
  /** The statements after which the mail is sent; call `wake` after their batch. */
  insertions(userId: string, sign: { provider: string; ip: string }): readonly Sql[]
  /** Looks for mails to send now. */
  wake(): void
}

type Payload = { userId: string; provider: string; ip: string; at: number }

export function createSignInNotice(
  { db, clock, jobs }: Pick<WireContext, 'db' | 'clock' | 'jobs'>,
  { messaging, users }: { messaging: Messaging | undefined; users: Users },
): SignInNotice {
  const notice = jobs.define<Payload>('auth.sign-in-notice', async ({ id, payload }) => {
    const user = await users.byId(payload.userId)
    // Either may be gone since.
    if (!user || !messaging?.sendsMail) return
    const data = {
      provider: payload.provider,
      when: new Date(payload.at).toUTCString(),
      ...(payload.ip !== '' && { ip: payload.ip }),
      ...(user.name !== null && { name: user.name }),
    }
    await db.batch(await messaging.mail({ id, to: user.email, template: 'new-sign-in', data }))
    messaging.wake()
  })

  return {
    insertions: (userId, { provider, ip }) =>
      messaging?.sendsMail ? [notice.insertion({ userId, provider, ip, at: clock.now() })] : [],
    wake: () => notice.wake(),
  }
}
