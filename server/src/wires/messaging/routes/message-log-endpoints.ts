import type { Key } from '../../../base/crypto.ts'
import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { countedFor } from '../../../http/limits.ts'
import { pageOf, PageQuery, PageReply, sortQuery } from '../../../http/page.ts'
import { Bytes, endpoint } from '../../../http/route.ts'
import { CreatedQuery, timesOf } from '../../../http/time-query.ts'
import type { Audit } from '../../../kernel/audit/audit.ts'
import { filterByOwner, OwnerQuery } from '../../../kernel/policy/owner-query.ts'
import type { Policy } from '../../../kernel/policy/policy.ts'
import type { MessageContent } from '../messages/message-content.ts'
import { MESSAGE_EVENTS } from '../messages/message-history.ts'
import { getMessage, getMessageContent } from '../outbox/message-detail.ts'
import { createMessageAggregates } from '../messages/message-aggregates.ts'
import { messageConditions, STATUSES, type MessageLog } from '../messages/messages.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { previewPage, SCHEMES, type Previews } from '../rendering/preview-page.ts'
import { CHANNELS } from '../providers/provider.ts'
import { resendMessage } from '../outbox/resend.ts'
import type { Templates } from '../rendering/templates.ts'

const LogFields = {
  _id: Type.String(),
  channel: Type.Enum(CHANNELS),
  to: Type.String(),
  subject: Type.Optional(
    Type.String({ description: 'Only of emails that a caller sent, not of those of the service.' }),
  ),
  template: Type.Optional(Type.String()),
  status: Type.Enum(STATUSES),
  messageId: Type.Optional(
    Type.String({ description: 'The provider’s id of the message; absent until a provider accepted it.' }),
  ),
  provider: Type.Optional(Type.String()),
  error: Type.Optional(Type.String()),
  createdAt: Type.String({ format: 'date-time', description: 'ISO 8601, UTC.' }),
}
const LogEntry = Type.Object(LogFields, { title: 'LogEntry' })

const MessageEvent = Type.Object(
  {
    at: Type.String({ format: 'date-time' }),
    event: Type.Enum(MESSAGE_EVENTS),
    provider: Type.Optional(Type.String()),
    text: Type.Optional(Type.String({ description: 'What the provider said.' })),
  },
  { title: 'MessageEvent' },
)
const Message = Type.Object(
  {
    ...LogFields,
    owner: Type.Optional(Type.String({ description: 'The user who sent it. Absent: the server itself.' })),
    attempts: Type.Integer({ description: 'How often a provider was called.' }),
    updatedAt: Type.String({ format: 'date-time' }),
    history: Type.Array(MessageEvent, { description: 'Calls of providers and their reports, oldest first.' }),
    hasContent: Type.Boolean({ description: 'Whether its content is still stored, encrypted.' }),
    canResend: Type.Boolean(),
  },
  { title: 'Message' },
)
const Content = Type.Object(
  {
    subject: Type.Optional(Type.String()),
    html: Type.Optional(Type.String()),
    text: Type.Optional(Type.String()),
    attachments: Type.Array(
      Type.Object(
        {
          filename: Type.String(),
          contentType: Type.String(),
          size: Type.Integer({ description: 'In bytes.' }),
        },
        { title: 'MessageAttachment' },
      ),
    ),
    page: Type.Optional(
      Type.String({
        description:
          'The path of a page with the HTML, for 15 minutes, for a frame with the attribute sandbox.',
      }),
    ),
  },
  { title: 'MessageContent' },
)

/** What messages are filtered by. */
const LogFilters = {
  channel: Type.Optional(Type.Enum(CHANNELS)),
  to: Type.Optional(
    Type.String({ description: 'An address or number; recipients in cc and bcc match, too.' }),
  ),
  status: Type.Optional(Type.Enum(STATUSES)),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Text within the recipient, the subject or the name of the template; or an id.',
      examples: ['ada@'],
    }),
  ),
  ...CreatedQuery,
  ...OwnerQuery,
}

const MessageId = Type.Object({
  id: Type.String({ maxLength: 64, examples: ['01arz3ndektsv4rrffq69g5fav'] }),
})

export type LogParts = {
  db: Database
  audit: Audit
  /** What the content of messages is sealed with. */
  contentKey: Key
  list: MessageLog
  outbox: Outbox
  policy: Policy
  previews: Previews
  templates: Templates
}

/** The endpoints of the log. */
export function logEndpoints(wire: LogParts) {
  const aggregates = createMessageAggregates(wire)
  return {
    list: endpoint(
      {
        summary: 'List messages',
        access: 'user',
        query: Type.Object({ ...LogFilters, ...PageQuery, ...sortQuery('status') }),
        reply: {
          200: Type.Object(
            {
              logs: Type.Array(LogEntry),
              ...PageReply,
            },
            { title: 'LogEntryPage' },
          ),
        },
      },
      async ({ caller, query: { since, until, ...query } }) => {
        const page = pageOf(query)
        const filters = { ...query, ...timesOf({ since, until }, 'since', 'until') }
        return {
          ...(await wire.list(await filterByOwner(wire.policy, caller, query), filters, page)),
          limit: page.limit,
          offset: page.offset,
        }
      },
    ),
    aggregate: endpoint(
      {
        summary: 'Aggregate messages',
        description:
          'Groups the messages that the filters find, counts each group, and adds up attempts. A query that takes too long is stopped, and answered 503.',
        access: 'operator',
        readsOnly: true,
        query: Type.Object({ ...aggregates.query, ...LogFilters }, { additionalProperties: false }),
        reply: { 200: aggregates.reply },
      },
      async ({ query, caller, ip, signal }) => {
        const { since, until, ...filters } = query
        const rowFilter = await filterByOwner(wire.policy, caller, query)
        return aggregates.read(query, {
          conditions: [
            ...(rowFilter.rows === 'all' ? [] : [sql`owner = ${rowFilter.owner}`]),
            ...messageConditions({ ...filters, ...timesOf({ since, until }, 'since', 'until') }),
          ],
          options: { caller: countedFor({ caller, ip }), signal },
        })
      },
    ),
    get: endpoint(
      {
        summary: 'Get a message',
        description: 'With each call of a provider and what it answered, without its content.',
        access: 'operator',
        params: MessageId,
        reply: { 200: Message },
        errors: [errors.not_found],
      },
      ({ params: { id } }) => getMessage(wire.db, id),
    ),
    getContent: endpoint(
      {
        summary: 'Get the content of a message',
        description:
          'Only of a message that a user sent, until it is sent, and for some days if it failed. That of the server’s own messages is never shown: 403.',
        access: 'operator',
        sealed: true,
        params: MessageId,
        reply: { 200: Content },
        errors: [errors.not_found],
      },
      async ({ params: { id } }) =>
        shownContent(
          await getMessageContent(wire.db, wire.contentKey, id),
          wire.previews.addressOf({ messageId: id }),
        ),
    ),
    resend: endpoint(
      {
        summary: 'Send a failed message again',
        description:
          'Only if no provider took it and its content is still stored; else the answer is 409, and says why. An email has the same Message-ID; a text that may have arrived is never sent again.',
        access: 'operator',
        scope: 'messaging:resend',
        idempotent: true,
        params: MessageId,
        reply: { 200: Message },
        errors: [errors.not_found, errors.conflict],
      },
      ({ params: { id }, actor }) => resendMessage(wire, id, actor),
    ),
    preview: endpoint(
      {
        summary: 'Show the HTML of a mail as a page',
        description:
          'At the address that a preview or a content answers, for 15 minutes. No script runs in it, and it loads nothing from elsewhere.',
        access: 'public',
        query: Type.Object({
          token: Type.String({
            maxLength: 8_000,
            description: 'From the field page of another answer.',
            examples: ['sealed'],
          }),
          scheme: Type.Optional(
            Type.Enum(SCHEMES, {
              description: 'The colours of a mail that has both. Default: as the reader prefers.',
            }),
          ),
        }),
        reply: { 200: Bytes },
        errors: [errors.not_found],
      },
      async ({ query: { token, scheme } }) => {
        const subject = wire.previews.open(token)
        if (!subject) throw errors.not_found({ message: 'This preview has expired: open it again.' })
        if ('template' in subject) {
          const { html } = await wire.templates.render(subject.template, subject.data, subject)
          return previewPage(html, scheme)
        }
        const content = await getMessageContent(wire.db, wire.contentKey, subject.messageId)
        return previewPage(content.channel === 'email' ? content.mail.html : '', scheme)
      },
    ),
  }
}

function shownContent(content: MessageContent, page: string | undefined) {
  if (content.channel !== 'email') return { text: content.text.body, attachments: [] }
  const { subject, html, text, attachments } = content.mail
  return {
    subject,
    html,
    ...(text !== undefined && { text }),
    attachments: attachments.map(({ filename, contentType, content: bytes }) => ({
      filename,
      contentType,
      size: bytes.length,
    })),
    ...(page !== undefined && { page }),
  }
}
