import { emailKey, parseAddress, type EmailAddress } from '../../../base/email-address.ts'
import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import type { Step } from '../../../db/database.ts'
import type { WireContext } from '../../../kernel/wire.ts'
import type { Messaging } from '../../messaging/index.ts'
import type { MailCount, MailLimit } from './mail-limit.ts'
import { mailLink } from './mail-links.ts'
import type { MailPurpose, MailTokens } from './mail-tokens.ts'
import type { UserRow, Users } from '../users.ts'

/**
 * The mails about accounts. Each is a row of work first; only that work looks at whether there is an account, so
 * nobody who asks can tell by the answer or its time. Links lead to `APP_URL` and nowhere else, with the token in the
 * fragment: no server on the way, log or `Referer` header sees it; the page there posts it.
 */
export type AccountMails = {
  /** Whether mails can be sent at all. Where not, nothing is put into the queue. */
  readonly areSent: boolean
  /** Sends a link to reset the password to the account of this address. */
  reset(id: string, email: EmailAddress): Promise<void>
  /** Sends a link to sign in, also to an address without an account while registration is open. */
  magicLink(id: string, email: EmailAddress): Promise<void>
  /** The statements after which a new account's address is sent a link to verify it. */
  verification(userId: string): readonly Step[]
  /** Sends such a link to an account that is there, as one that is asked for. */
  verifyAgain(id: string, userId: string): Promise<void>
  /** The statements after which the account's owner is told that its password was changed just now. */
  passwordChanged(userId: string): readonly Step[]
  /**
   * The statements after which the owner is told that somebody signed in with a provider for the first time just now.
   *
   * @param by.provider what people know it by
   */
  signedIn(userId: string, by: { provider: string; ip: string }): readonly Step[]
}

const TEMPLATES: Record<MailPurpose, string> = {
  reset: 'reset-password',
  'magic-link': 'magic-link',
  verification: 'verify-email',
}

/** Only where the address is proven: a stranger who registers it could have us write anything to its owner. */
const nameOf = (user: UserRow | undefined): { name?: string } =>
  user && user.name !== null && user.email_verified_at !== null ? { name: user.name } : {}

/** The address as its account keeps it: mail goes there and nowhere else. */
const addressOf = ({ email, email_key }: UserRow): EmailAddress => ({ address: email, key: email_key })

type Happening = { userId: string; at: number }

/** @param options.registration whether a link makes an account for an address that has none */
export function createAccountMails(
  { db, clock, jobs, log, settings }: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log' | 'settings'>,
  {
    messaging,
    users,
    tokens,
    limit,
  }: { messaging: Messaging | undefined; users: Users; tokens: MailTokens; limit: MailLimit },
  options: { registration: 'open' | 'closed' },
): AccountMails {
  /** Sends a link, unless this work has sent it before or the address has had its mails of this hour. */
  async function sendLink(
    id: string,
    purpose: MailPurpose,
    email: EmailAddress,
    user: UserRow | undefined,
    count: MailCount = purpose,
  ): Promise<void> {
    // The provider was taken out of the configuration since.
    if (!messaging?.sendsMail) return
    const over = errors.rate_limited()
    const repeated = errors.conflict()
    const { token, steps } = tokens.issue(purpose, { id, email, user }, () => repeated)
    const link = mailLink(settings.appUrl, purpose, token)
    const mail = await messaging.mail({
      id,
      to: email.address,
      template: TEMPLATES[purpose],
      data: { ...(purpose !== 'magic-link' && nameOf(user)), link },
    })
    try {
      await db.batch([
        limit.takeSql(count, email.key, () => over),
        // Tokens of one purpose are issued one after the other, however they are counted.
        ...(count === purpose ? [] : [limit.waitSql(purpose, email.key)]),
        ...steps,
        ...mail,
      ])
    } catch (error) {
      if (error === over)
        log.info({ purpose: count }, 'an address has had its mails of this hour: this one is not sent')
      else if (error !== repeated) throw error
    }
  }

  // A lane for each address: its tokens are issued in the order in which they were asked for, and so are its mails sent.
  // A later token voids the earlier ones, so the last mail to arrive has to be the one whose link works.
  const toAddress = {
    payload: Type.Object({ address: Type.String() }),
    lane: ({ address }: { address: string }) => emailKey(address),
  }

  const reset = jobs.define('auth.reset-mail', toAddress, async ({ id, payload }) => {
    const user = await users.byEmail(parseAddress(payload.address, '').key)
    if (user && user.disabled_at === null) await sendLink(id, 'reset', addressOf(user), user)
  })

  const magicLink = jobs.define('auth.magic-link-mail', toAddress, async ({ id, payload }) => {
    const email = parseAddress(payload.address, '')
    const user = await users.byEmail(email.key)
    const mayEnter = user ? user.disabled_at === null : options.registration === 'open'
    if (mayEnter) await sendLink(id, 'magic-link', user ? addressOf(user) : email, user)
  })

  const verification = jobs.define(
    'auth.verification-mail',
    {
      payload: Type.Object({ userId: Type.String(), isAskedFor: Type.Optional(Type.Boolean()) }),
      lane: ({ userId }) => userId,
    },
    async ({ id, payload }) => {
      const user = await users.byId(payload.userId)
      const count = payload.isAskedFor ? 'verification' : 'registration'
      if (user && user.disabled_at === null && user.email_verified_at === null)
        await sendLink(id, 'verification', addressOf(user), user, count)
    },
  )

  /** Tells an account's owner what happened to it. */
  async function notify(
    id: string,
    template: string,
    { userId, at }: Happening,
    details: Record<string, string> = {},
  ): Promise<void> {
    const user = await users.byId(userId)
    // Either may be gone since.
    if (!user || !messaging?.sendsMail) return
    const data = { ...nameOf(user), when: new Date(at).toUTCString(), ...details }
    await db.batch(await messaging.mail({ id, to: user.email, template, data }))
  }

  const passwordNotice = jobs.define(
    'auth.password-notice',
    { payload: Type.Object({ userId: Type.String(), at: Type.Integer() }) },
    ({ id, payload }) => notify(id, 'password-changed', payload),
  )

  const signInNotice = jobs.define(
    'auth.sign-in-notice',
    {
      payload: Type.Object({
        userId: Type.String(),
        at: Type.Integer(),
        provider: Type.String(),
        ip: Type.String(),
      }),
    },
    ({ id, payload }) => {
      const { provider, ip } = payload
      return notify(id, 'new-sign-in', payload, { provider, ...(ip !== '' && { ip }) })
    },
  )

  const areSent = (): boolean => messaging?.sendsMail === true

  return {
    get areSent() {
      return areSent()
    },
    reset: (id, { address }) => reset.enqueue({ address }, { id }),
    magicLink: (id, { address }) => magicLink.enqueue({ address }, { id }),
    verification: (userId) => (areSent() ? [verification.enqueueSql({ userId })] : []),
    verifyAgain: (id, userId) => verification.enqueue({ userId, isAskedFor: true }, { id }),
    passwordChanged: (userId) => (areSent() ? [passwordNotice.enqueueSql({ userId, at: clock.now() })] : []),
    signedIn: (userId, { provider, ip }) =>
      areSent() ? [signInNotice.enqueueSql({ userId, provider, ip, at: clock.now() })] : [],
  }
}
