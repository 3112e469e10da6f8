import { parseAddress, type EmailAddress } from '../../../base/email-address.ts'
import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Messaging } from '../../messaging/index.ts'
import { languageOf, nameOf, type AccountMails } from './account-mails.ts'
import type { MailLimit } from './mail-limit.ts'
import { mailLink } from './mail-links.ts'
import type { UserRow } from '../accounts/user.ts'
import type { Users } from '../accounts/users.ts'
import type { ChangeLinks, RequestedChange } from './address-change-links.ts'

/** The mails of a change of address, each of them a job first. */
export type AddressChangeMails = {
  /**
   * Sends a link to the new address, unless it has an account or is reserved, and tells the old address if it is verified.
   * Only the job looks at the new address, so the caller can't tell from the answer or its time.
   */
  request(id: string, user: UserRow, email: EmailAddress): Promise<void>
  /** The steps that enqueue a mail to the old address: the address was changed now, and how to undo it. */
  changedSql(change: RequestedChange): readonly Step[]
}

type Context = Pick<WireContext, 'db' | 'jobs' | 'log' | 'settings'>
type Nouns = {
  messaging: Messaging | undefined
  users: Users
  links: ChangeLinks
  limit: MailLimit
  mails: AccountMails
}

export function createAddressChangeMails(context: Context, nouns: Nouns): AddressChangeMails {
  const parts = { ...context, ...nouns }
  const request = context.jobs.define(
    'auth.address-change-mail',
    {
      payload: Type.Object({ userId: Type.String(), version: Type.Integer(), address: Type.String() }),
      // A later link voids the earlier ones: the mail that arrives last must be the one whose link works.
      lane: ({ userId }) => userId,
    },
    ({ id, payload }) => sendLink(parts, id, payload),
  )
  const changed = context.jobs.define(
    'auth.address-changed-mail',
    {
      payload: Type.Object({ changeId: Type.String(), userId: Type.String() }),
      lane: ({ userId }) => userId,
    },
    ({ id, payload }) => sendUndoLink(parts, id, payload.changeId),
  )
  return {
    request: (id, { id: userId, credentials_version: version }, { address }) =>
      request.enqueue({ userId, version, address }, { id }),
    changedSql: ({ id: changeId, userId }) => [changed.enqueueSql({ changeId, userId })],
  }
}

async function sendLink(
  { db, log, settings, messaging, users, links, limit, mails }: Context & Nouns,
  id: string,
  { userId, version, address }: { userId: string; version: number; address: string },
): Promise<void> {
  const user = await users.byId(userId)
  const email = parseAddress(address, '')
  if (!user || user.credentials_version !== version || user.email_key === email.key) return
  // The provider may have been removed from the configuration since.
  if (!messaging?.sendsMail) return
  const isFree = !(await users.byEmail(email.key)) && !(await users.isReserved(email.key, userId))
  const limitReached = errors.rate_limited()
  const done = errors.conflict()
  const { token, steps } = links.issue(user, { id, email }, () => done)
  const link = mailLink(settings.appUrl, 'address-change', token)
  const mail = isFree
    ? await messaging.mail({
        id,
        to: email.address,
        template: 'change-address',
        data: { link },
        language: languageOf(user),
      })
    : []
  try {
    await db.batch([
      limit.takeSql('address-change', email.key, () => limitReached),
      limit.takeSql('address-change-by-account', userId, () => limitReached),
      requireRow(
        sql`select id from auth_users
            where id = ${userId} and credentials_version = ${version} and disabled_at is null ${sql.sharedLock}`,
        () => done,
      ),
      isFree ? steps : links.voidSql(userId),
      mail,
      user.email_verified_at === null ? [] : mails.notice(userId, 'address-change-requested', {}, user.email),
    ])
  } catch (error) {
    if (error === limitReached)
      log.info(
        'an account or address has reached its hourly limit of changes of address: this mail is not sent',
      )
    else if (error !== done) throw error
  }
}

async function sendUndoLink(
  { db, settings, messaging, users, links }: Context & Nouns,
  id: string,
  changeId: string,
): Promise<void> {
  const change = await links.toTell(changeId)
  const user = change && (await users.byId(change.userId))
  if (!change || !user || !messaging?.sendsMail) return
  const alreadySent = errors.conflict()
  const { token, step } = links.issueUndo(changeId, () => alreadySent)
  const mail = await messaging.mail({
    id,
    to: change.oldEmail.address,
    template: 'address-changed',
    data: {
      ...nameOf(user),
      when: new Date(change.changedAt).toUTCString(),
      until: new Date(change.undoUntil).toUTCString(),
      link: mailLink(settings.appUrl, 'address-undo', token),
    },
    language: languageOf(user),
  })
  await db.batch([step, mail]).catch((error: unknown) => {
    if (error !== alreadySent) throw error
  })
}
