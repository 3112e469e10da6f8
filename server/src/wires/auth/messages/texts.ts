import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Messaging } from '../../messaging/index.ts'
import type { UserRow } from '../accounts/user.ts'
import type { Users } from '../accounts/users.ts'
import { languageOf } from './account-mails.ts'
import { browserHash } from './codes.ts'
import type { TextCodes } from './text-codes.ts'
import type { TextLimit } from './text-limit.ts'

/** The text messages with codes. */
export type Texts = {
  /** Whether text messages can be sent. If not, nothing may be asked for. */
  readonly areSent: boolean
  /**
   * Sends a code to the account that has proven this number. A job does it, and only the job checks whether there is one,
   * so a caller can't tell from the answer or its time.
   */
  signIn(id: string, to: { phone: string; browser?: string | undefined }): Promise<void>
  /**
   * Sends a code to a number that the account does not have yet.
   *
   * @throws RATE_LIMITED if the number, or the account, has reached its hourly limit
   */
  proof(id: string, user: UserRow, phone: string): Promise<void>
}

/** @throws PROVIDER_NOT_CONFIGURED if no text message can be sent */
export function requireTexts(texts: Texts): void {
  if (!texts.areSent)
    throw errors.provider_not_configured({
      message:
        'This server cannot send SMS: the operator has to configure a provider for SMS (TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN and TWILIO_FROM).',
    })
}

const TEMPLATE = 'sign-in-code'

export function createTexts(
  { db, jobs, log, settings }: Pick<WireContext, 'db' | 'jobs' | 'log' | 'settings'>,
  {
    messaging,
    users,
    textCodes,
    limit,
  }: { messaging: Messaging | undefined; users: Users; textCodes: TextCodes; limit: TextLimit },
): Texts {
  // The last line is bound to the frontend's host: browsers fill in the code there and nowhere else
  // (https://wicg.github.io/sms-one-time-codes/).
  const host = new URL(settings.appUrl).hostname
  const textSql = (id: string, to: string, code: string, user: UserRow) =>
    messaging!.text({ id, to, template: TEMPLATE, data: { code, host }, language: languageOf(user) })

  const signIn = jobs.define(
    'auth.sign-in-text',
    {
      payload: Type.Object({ phone: Type.String(), browserHash: Type.Optional(Type.String()) }),
      // In the order of the requests: a later code voids the earlier ones.
      lane: ({ phone }: { phone: string }) => phone,
    },
    async ({ id, payload }) => {
      // The provider may have been removed from the configuration since.
      if (!messaging?.sendsText) return
      const { phone } = payload
      const holder = await users.byPhone(phone)
      const user = holder?.disabled_at === null ? holder : undefined
      const limitReached = errors.rate_limited()
      const repetition = errors.conflict()
      // Without an account a code is stored too, so that an attempt at it is the same work; it is never sent.
      const { code, steps } = textCodes.issue('sign-in', { id, user, ...payload }, () => repetition)
      try {
        await db.batch([
          limit.takeSql({ phone }, () => limitReached),
          ...steps,
          ...(user ? await textSql(id, phone, code, user) : []),
        ])
      } catch (error) {
        if (error === limitReached)
          log.info('a number has reached its hourly limit of texts: this one is not sent')
        else if (error !== repetition) throw error
      }
    },
  )

  return {
    get areSent() {
      return messaging?.sendsText === true
    },

    signIn: (id, { phone, browser }) =>
      signIn.enqueue({ phone, ...(browser !== undefined && { browserHash: browserHash(browser) }) }, { id }),

    async proof(id, user, phone) {
      const repetition = errors.conflict()
      const { code, steps } = textCodes.issue('phone', { id, phone, user }, () => repetition)
      const text = await textSql(id, phone, code, user)
      await db
        .batch([limit.takeSql({ phone }), limit.takeSql({ userId: user.id }), ...steps, ...text])
        .catch((error: unknown) => {
          if (error !== repetition) throw error
        })
    },
  }
}
