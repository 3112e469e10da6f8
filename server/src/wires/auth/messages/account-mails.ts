import { emailKey, parseAddress, type EmailAddress } from '../../../base/email-address.ts'
import { errors } from '../../../base/errors.ts'
import { parseJson } from '../../../base/json.ts'
import { Type } from '../../../base/schema.ts'
import type { Step } from '../../../db/database.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Messaging } from '../../messaging/index.ts'
import type { MailCount, MailLimit } from './mail-limit.ts'
import { mailLink } from './mail-links.ts'
import type { MailPurpose, MailTokens } from './mail-tokens.ts'
import { browserHash, groupsOf } from './codes.ts'
import type { UserRow } from '../accounts/user.ts'
import type { Users } from '../accounts/users.ts'

/**
 * The mails about accounts. Each is a job first, and only the job checks whether the account exists, so a caller can't
 * tell from the answer or its time. Links lead to `APP_URL` only, with the token in the fragment: no server, log or
 * `Referer` header contains it; the page at `APP_URL` posts it.
 */
export type AccountMails = {
  /** Whether mails can be sent. If not, nothing is enqueued. */
  readonly areSent: boolean
  /** Throws PROVIDER_NOT_CONFIGURED if no mails can be sent. */
  requireProvider(): void
  /** Sends a link to reset the password to the account of this address. */
  reset(id: string, email: EmailAddress): Promise<void>
  /** The step that enqueues such a link. */
  resetSql(email: EmailAddress): Step
  /** The steps that enqueue a link for an account without a password to set one, which verifies its address. */
  invitation(email: EmailAddress): readonly Step[]
  /**
   * Sends a link and a code to sign in, also to an address without an account while registration is open.
   *
   * @param browser the random text of the browser that asks
   */
  magicLink(id: string, email: EmailAddress, browser?: string): Promise<void>
  /** The steps that enqueue a link for a new account to verify its address. */
  verification(userId: string): readonly Step[]
  /** Sends such a link to an existing account on request. */
  verifyAgain(id: string, userId: string): Promise<void>
  /**
   * The steps that enqueue a notice to the account's owner.
   *
   * @param details what the template shows beside the name and the time
   * @param to a former address that was verified; default: the one that the account has when the mail is sent
   */
  notice(
    userId: string,
    template: AccountNotice,
    details?: Record<string, string>,
    to?: string,
  ): readonly Step[]
}

/** A template that tells the owner of an account what happened to it. */
export type AccountNotice =
  | 'password-changed'
  /** `provider`, `ip`: an identity provider was used for the first time. */
  | 'new-sign-in'
  /** `device`, `ip`. */
  | 'new-device'
  /** `factor`: `Passkey "Laptop"`. */
  | 'factor-added'
  /** `factor`. */
  | 'factor-removed'
  /** By an administrator. */
  | 'factors-removed'
  /** An administrator has looked at the account, or acted as its owner. */
  | 'impersonated'
  /** `left`: how many are. */
  | 'recovery-code-used'
  /** `due`: from when the account cannot be used without one. */
  | 'second-factor-due'
  | 'address-change-requested'
  | 'address-restored'
  /** To the old address: an administrator has given the account another one. */
  | 'address-set'
  | 'phone-changed'

const TEMPLATES: Record<MailPurpose, string> = {
  reset: 'reset-password',
  'magic-link': 'magic-link',
  verification: 'verify-email',
}

/** The name only if the address is verified: otherwise anybody could register it and choose text for a mail to its owner. */
export const nameOf = (user: UserRow | undefined): { name?: string } =>
  user && user.name !== null && user.email_verified_at !== null ? { name: user.name } : {}

/** The language that its owner, or the application, has written into the metadata of the account. */
export function languageOf(user: UserRow | undefined): string | undefined {
  const { language } = (user ? parseJson(user.metadata) : {}) as { language?: unknown }
  return typeof language === 'string' ? language : undefined
}

/** The address that the account has stored: mails are sent there only. */
const addressOf = ({ email, email_key }: UserRow): EmailAddress => ({ address: email, key: email_key })

/**
 * @param options.registration whether a link creates an account for an address without one
 * @param options.invitationMs lifetime of the link of an invitation
 */
export function createAccountMails(
  { db, clock, jobs, log, settings }: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log' | 'settings'>,
  {
    messaging,
    users,
    tokens,
    limit,
  }: { messaging: Messaging | undefined; users: Users; tokens: MailTokens; limit: MailLimit },
  options: { registration: 'open' | 'closed'; invitationMs: number },
): AccountMails {
  /**
   * Sends a link, unless this job has sent it before or the address has reached its hourly limit.
   *
   * @param to.isDecoy the address may not sign in: the link is stored like others, so that checking its code takes the
   *   same time, and it is not sent
   */
  async function sendLink(
    id: string,
    purpose: MailPurpose,
    to: {
      email: EmailAddress
      user: UserRow | undefined
      browserHash?: string | undefined
      isDecoy?: boolean
      /** Of an invitation, in milliseconds. */
      lifetimeMs?: number
    },
    count: MailCount = purpose,
    template: string = TEMPLATES[purpose],
  ): Promise<void> {
    // The provider may have been removed from the configuration since.
    if (!messaging?.sendsMail) return
    const limitReached = errors.rate_limited()
    const repetition = errors.conflict()
    const { email, user } = to
    const { token, code, steps } = tokens.issue(purpose, { id, ...to }, () => repetition)
    const link = mailLink(settings.appUrl, purpose, token)
    const more = purpose === 'magic-link' ? { code: { digits: code, ...groupsOf(code) } } : nameOf(user)
    const mail = to.isDecoy
      ? []
      : await messaging.mail({
          id,
          to: email.address,
          template,
          data: { link, ...more },
          language: languageOf(user),
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
    if (user && user.disabled_at === null) await sendLink(id, 'reset', { email: addressOf(user), user })
  })

  const invitation = jobs.define('auth.invitation-mail', perAddress, async ({ id, payload }) => {
    const user = await users.byEmail(parseAddress(payload.address, '').key)
    if (!user || user.disabled_at !== null || user.password_hash !== null) return
    const to = { email: addressOf(user), user, lifetimeMs: options.invitationMs }
    await sendLink(id, 'reset', to, 'invitation', 'invitation')
  })

  const magicLink = jobs.define(
    'auth.magic-link-mail',
    {
      ...perAddress,
      payload: Type.Object({ address: Type.String(), browserHash: Type.Optional(Type.String()) }),
    },
    async ({ id, payload }) => {
      const email = parseAddress(payload.address, '')
      const user = await users.byEmail(email.key)
      const maySignIn = user
        ? user.disabled_at === null
        : options.registration === 'open' && !(await users.isReserved(email.key))
      await sendLink(id, 'magic-link', {
        email: user ? addressOf(user) : email,
        user,
        browserHash: payload.browserHash,
        isDecoy: !maySignIn,
      })
    },
  )

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
        await sendLink(id, 'verification', { email: addressOf(user), user }, count)
    },
  )

  const accountNotice = jobs.define(
    'auth.notice',
    {
      payload: Type.Object({
        userId: Type.String(),
        at: Type.Integer(),
        template: Type.String(),
        details: Type.Record(Type.String(), Type.String()),
        to: Type.Optional(Type.String()),
      }),
    },
    async ({ id, payload: { userId, at, template, details, to } }) => {
      const user = await users.byId(userId)
      // The account may be deleted since, or the provider removed.
      if (!user || !messaging?.sendsMail) return
      const data = { ...nameOf(user), when: new Date(at).toUTCString(), ...details }
      const limitReached = errors.rate_limited()
      const batch = db.batch([
        // An address that is not verified may belong to a person who did not create the account.
        user.email_verified_at === null && to === undefined
          ? limit.takeSql('notice', user.email_key, () => limitReached)
          : [],
        await messaging.mail({ id, to: to ?? user.email, template, data, language: languageOf(user) }),
      ])
      await batch.catch((error: unknown) => {
        if (error !== limitReached) throw error
        log.info(
          { template },
          'an unverified address has reached its hourly limit of notices: this one is not sent',
        )
      })
    },
  )

  const areSent = (): boolean => messaging?.sendsMail === true

  return {
    get areSent() {
      return areSent()
    },
    requireProvider() {
      if (!areSent())
        throw errors.provider_not_configured({
          message:
            'This server cannot send email: the operator has to configure a provider for email (SMTP_URL).',
        })
    },
    reset: (id, { address }) => reset.enqueue({ address }, { id }),
    resetSql: ({ address }) => reset.enqueueSql({ address }),
    invitation: ({ address }) => (areSent() ? [invitation.enqueueSql({ address })] : []),
    magicLink: (id, { address }, browser) =>
      magicLink.enqueue(
        { address, ...(browser !== undefined && { browserHash: browserHash(browser) }) },
        { id },
      ),
    verification: (userId) => (areSent() ? [verification.enqueueSql({ userId })] : []),
    verifyAgain: (id, userId) => verification.enqueue({ userId, isAskedFor: true }, { id }),
    notice: (userId, template, details = {}, to) =>
      areSent()
        ? [
            accountNotice.enqueueSql({
              userId,
              template,
              details,
              at: clock.now(),
              ...(to !== undefined && { to }),
            }),
          ]
        : [],
  }
}
