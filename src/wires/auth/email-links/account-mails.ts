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
 * The mails about accounts. Each is a job first, and only the job checks whether the account exists, so a caller can't
 * tell from the answer or its time. Links lead to `APP_URL` only, with the token in the fragment: no server, log or
 * `Referer` header contains it; the page at `APP_URL` posts it.
 */
export type AccountMails = {
  /** Whether mails can be sent. If not, nothing is enqueued. */
  readonly areSent: boolean
  /** Sends a link to reset the password to the account of this address. */
  reset(id: string, email: EmailAddress): Promise<void>
  /** Sends a link to sign in, also to an address without an account while registration is open. */
  magicLink(id: string, email: EmailAddress): Promise<void>
  /** The steps that enqueue a link for a new account to verify its address. */
  verification(userId: string): readonly Step[]
  /** Sends such a link to an existing account on request. */
  verifyAgain(id: string, userId: string): Promise<void>
  /** The steps that enqueue a notice to the account's owner that the password was changed now. */
  passwordChanged(userId: string): readonly Step[]
  /**
   * The steps that enqueue a notice to the owner of the account: a provider was used to sign in for the first time.
   *
   * @param by.provider the provider's name for people
   */
  signedIn(userId: string, by: { provider: string; ip: string }): readonly Step[]
}

const TEMPLATES: Record<MailPurpose, string> = {
  reset: 'reset-password',
  'magic-link': 'magic-link',
  verification: 'verify-email',
}

/** The name only if the address is verified: otherwise anybody could register it and choose text for a mail to its owner. */
const nameOf = (user: UserRow | undefined): { name?: string } =>
  user && user.name !== null && user.email_verified_at !== null ? { name: user.name } : {}

/** The address that the account has stored: mails are sent there only. */
const addressOf = ({ email, email_key }: UserRow): EmailAddress => ({ address: email, key: email_key })

type AccountEvent = { userId: string; at: number }

/** @param options.registration whether a link creates an account for an address without one */
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
  /** Sends a link, unless this job has sent it before or the address has reached its hourly limit. */
  async function sendLink(
    id: string,
    purpose: MailPurpose,
    email: EmailAddress,
    user: UserRow | undefined,
    count: MailCount = purpose,
  ): Promise<void> {
    // The provider may have been removed from the configuration since.
    if (!messaging?.sendsMail) return
    const limitReached = errors.rate_limited()
    const repetition = errors.conflict()
    const { token, steps } = tokens.issue(purpose, { id, email, user }, () => repetition)
    const link = mailLink(settings.appUrl, purpose, token)
    const mail = await messaging.mail({
      id,
      to: email.address,
      template: TEMPLATES[purpose],
      data: { ...(purpose !== 'magic-link' && nameOf(user)), link },
    })
    try {
      await db.batch([
        limit.takeSql(count, email.key, () => limitReached),
        // Tokens of one purpose are issued one after the other, however they are counted.
        ...(count === purpose ? [] : [limit.waitSql(purpose, email.key)]),
        ...steps,
        ...mail,
      ])
    } catch (error) {
      if (error === limitReached)
        log.info({ purpose: count }, 'an address has reached its hourly limit of mails: this one is not sent')
      else if (error !== repetition) throw error
    }
  }

  // A lane for each address: its tokens are issued, and its mails sent, in the order of the requests. A later token voids
  // the earlier ones, so the mail that arrives last must be the one whose link works.
  const perAddress = {
    payload: Type.Object({ address: Type.String() }),
    lane: ({ address }: { address: string }) => emailKey(address),
  }

  const reset = jobs.define('auth.reset-mail', perAddress, async ({ id, payload }) => {
    const user = await users.byEmail(parseAddress(payload.address, '').key)
    if (user && user.disabled_at === null) await sendLink(id, 'reset', addressOf(user), user)
  })

  const magicLink = jobs.define('auth.magic-link-mail', perAddress, async ({ id, payload }) => {
    const email = parseAddress(payload.address, '')
    const user = await users.byEmail(email.key)
    const maySignIn = user ? user.disabled_at === null : options.registration === 'open'
    if (maySignIn) await sendLink(id, 'magic-link', user ? addressOf(user) : email, user)
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

  /** Notifies an account's owner of an event. */
  async function notify(
    id: string,
    template: string,
    { userId, at }: AccountEvent,
    details: Record<string, string> = {},
  ): Promise<void> {
    const user = await users.byId(userId)
    // The account may be deleted since, or the provider removed.
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
