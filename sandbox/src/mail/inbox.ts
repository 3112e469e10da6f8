import type { Address, Email, PostalMimeOptions, RawEmail } from 'postal-mime'

import { isoTime } from '../../../server/src/base/clock.ts'
import { sha256 } from '../../../server/src/base/crypto.ts'
import { emailKey } from '../../../server/src/base/email-address.ts'
import { errors } from '../../../server/src/base/errors.ts'
import { newId } from '../../../server/src/base/ids.ts'
import { parseJson } from '../../../server/src/base/json.ts'
import type { Step } from '../../../server/src/db/database.ts'
import { sql } from '../../../server/src/db/sql.ts'
import { linksOf, textOf } from './links.ts'
import type { StandInContext } from '../stand-in.ts'

/** A mail as the inbox shows it. */
export type InboxMail = {
  id: string
  /** The address in the From field. */
  from: string
  /** The addresses in the To field, joined with `, `. */
  to: string
  subject: string
  text: string | null
  html: string | null
  /** The http and https addresses in it. */
  links: string[]
  /** ISO 8601. */
  receivedAt: string
}

/** A mail with its envelope, headers and attachments. */
export type WholeMail = InboxMail & {
  /** The recipients in the envelope. */
  receivers: string[]
  cc: string
  replyTo: string
  /** Unchanged, in their order. */
  headers: { name: string; value: string }[]
  attachments: {
    filename: string | null
    /** Its name in `cid:` addresses of the HTML; null if it has none. */
    contentId: string | null
    contentType: string
    size: number
    content: string
  }[]
}

export type Inbox = {
  /**
   * Stores a message; it is on the disk once this resolves.
   *
   * @param raw the message (RFC 5322), unchanged
   * @param receivers the recipients in the envelope
   * @param stepsFor returns steps for the same batch; it gets the Message-ID
   */
  add(
    raw: Buffer,
    receivers: readonly string[],
    stepsFor: (messageId: string | undefined) => readonly Step[],
  ): Promise<void>
  /** Whether this is the first attempt to send a message, by its Message-ID; records the attempt. */
  isFirstAttempt(raw: Buffer): Promise<boolean>
  /**
   * The newest first.
   *
   * @param filter.search only those with this text in an address, the subject or the body, in any case
   */
  list(filter: { to?: string | undefined; search?: string | undefined; limit: number }): Promise<InboxMail[]>
  /** @throws NOT_FOUND */
  find(id: string): Promise<WholeMail>
  /** The message as it was accepted. @throws NOT_FOUND */
  source(id: string): Promise<Buffer>
  /** @throws NOT_FOUND */
  delete(id: string): Promise<void>
  count(): Promise<number>
  /** @param steps further steps of the same batch */
  empty(steps: readonly Step[]): Promise<void>
}

/** The number of mails that are kept; the oldest are deleted. */
export const MAILS_KEPT = 500

type Row = { id: string; view: string; received_at: number }
type View = Omit<InboxMail, 'id' | 'receivedAt'>

const addressesOf = (fields: readonly Address[] = []): string =>
  fields.flatMap((one) => (one.group ? one.group.map(({ address }) => address) : [one.address])).join(', ')

function viewOf(mail: Email, receivers: readonly string[]): View {
  const text = mail.text ?? null
  const html = mail.html ?? null
  return {
    from: addressesOf(mail.from && [mail.from]),
    to: addressesOf(mail.to) || receivers.join(', '),
    subject: mail.subject ?? '',
    text,
    html,
    links: linksOf({ html, text }),
  }
}

const notFound = () => errors.not_found({ message: 'No mail in the inbox has this id.' })

/** Whether a mail contains a text, in any case and with any white space between its words. */
function contains(search: string): (mail: InboxMail) => boolean {
  const flat = (text: string): string => text.toLowerCase().replaceAll(/\s+/g, ' ')
  const needle = flat(search.trim())
  return ({ from, to, subject, text, html }) =>
    [from, to, subject, text ?? '', textOf(html ?? '')].some((one) => flat(one).includes(needle))
}

/** Accepted mail, in the database, so that it survives a restart. */
export function createInbox({ db, clock }: Pick<StandInContext, 'db' | 'clock'>): Inbox {
  const mailOf = ({ id, view, received_at }: Row): InboxMail => ({
    id,
    ...(parseJson(view) as View),
    receivedAt: isoTime(received_at),
  })
  return {
    async add(raw, receivers, stepsFor) {
      const mail = await parseMail(raw)
      const view = viewOf(mail, receivers)
      const now = clock.now()
      const id = newId(now)
      const addresses = new Set(receivers.map(emailKey))
      await db.batch([
        sql`insert into sandbox_mail (id, raw, view, received_at)
            values (${id}, ${raw.toString('base64')}, ${JSON.stringify(view)}, ${now})`,
        ...[...addresses].map(
          (address) => sql`insert into sandbox_mail_receivers (mail_id, address) values (${id}, ${address})`,
        ),
        sql`delete from sandbox_mail where (received_at, id) <= (
              select received_at, id from sandbox_mail order by received_at desc, id desc limit 1 offset ${MAILS_KEPT})
              and id <> ${id} -- the newest, whatever the clock says`,
        ...stepsFor(mail.messageId),
      ])
    },
    async isFirstAttempt(raw) {
      const { messageId } = await parseMail(raw)
      const message = sha256(messageId ?? raw.toString('latin1'))
      const [rows] = await db.batch([
        sql`insert into sandbox_mail_deferred (message, deferred_at) values (${message}, ${clock.now()})
            on conflict (message) do nothing returning message`,
        sql`delete from sandbox_mail_deferred where (deferred_at, message) <= (
              select deferred_at, message from sandbox_mail_deferred
              order by deferred_at desc, message desc limit 1 offset ${MAILS_KEPT})
              and message <> ${message}`,
      ])
      return rows.length > 0
    },
    async list({ to, search, limit }) {
      const filterSql = sql`where id in (select mail_id from sandbox_mail_receivers where address = ${emailKey(to ?? '')})`
      const rows = await db.scan<Row>(sql`
        select id, view, received_at from sandbox_mail ${to === undefined ? sql.literal('') : filterSql}
        order by received_at desc, id desc limit ${search === undefined ? limit : MAILS_KEPT}`)
      const mails = rows.map(mailOf)
      return search === undefined ? mails : mails.filter(contains(search)).slice(0, limit)
    },
    async find(id) {
      const row = await db.get<Row & { raw: string }>(
        sql`select id, raw, view, received_at from sandbox_mail where id = ${id}`,
      )
      if (!row) throw notFound()
      const receivers = await db.all<{ address: string }>(
        sql`select address from sandbox_mail_receivers where mail_id = ${id} order by address`,
      )
      const mail = await parseMail(Buffer.from(row.raw, 'base64'), { attachmentEncoding: 'base64' })
      return {
        ...mailOf(row),
        receivers: receivers.map(({ address }) => address),
        cc: addressesOf(mail.cc),
        replyTo: addressesOf(mail.replyTo),
        headers: mail.headers.map(({ originalKey, value }) => ({ name: originalKey, value })),
        attachments: mail.attachments.map(({ filename, contentId, mimeType, content }) => ({
          filename,
          contentId: contentId?.replace(/^<(.*)>$/, '$1') ?? null,
          contentType: mimeType,
          size: Buffer.byteLength(content as string, 'base64'),
          content: content as string,
        })),
      }
    },
    async source(id) {
      const row = await db.get<{ raw: string }>(sql`select raw from sandbox_mail where id = ${id}`)
      if (!row) throw notFound()
      return Buffer.from(row.raw, 'base64')
    },
    async delete(id) {
      const [, rows] = await db.batch([
        sql`delete from sandbox_mail_receivers where mail_id = ${id}`,
        sql`delete from sandbox_mail where id = ${id} returning id`,
      ])
      if (rows.length === 0) throw notFound()
    },
    async count() {
      const row = await db.get<{ count: number }>(sql`select count(*) as count from sandbox_mail`)
      return row!.count
    },
    async empty(steps) {
      await db.batch([
        sql`delete from sandbox_mail_receivers`,
        sql`delete from sandbox_mail`,
        sql`delete from sandbox_mail_deferred`,
        ...steps,
      ])
    },
  }
}

/** Its package is loaded with the first mail. */
const parseMail = async (raw: RawEmail, options?: PostalMimeOptions): Promise<Email> =>
  (await import('postal-mime')).default.parse(raw, options)
