import { Type } from '../../base/schema.ts'

import { withRule } from '../../base/with-rule.ts'
import { addressFault } from '../../base/email-address.ts'
import { errors } from '../../base/errors.ts'
import { idPattern } from '../../base/ids.ts'
import { form, json, raw } from '../../http/bodies.ts'
import { FORM_TYPE, JSON_MEDIA_TYPE } from '../../http/body-parsers.ts'
import { pageOf, PageQuery, PageReply } from '../../http/page.ts'
import { healthRoute } from '../../http/health-route.ts'
import { route, type RateLimit } from '../../http/route.ts'
import { PROVIDER_STATUS } from '../../providers/health.ts'
import { receiveErrors } from '../../providers/receive.ts'
import { attachmentFault } from './attachments.ts'
import { messagingErrors } from './errors.ts'
import { CHANNELS, type Channel, type Providers } from './provider.ts'
import type { MessagingHealth } from './health.ts'
import { STATUSES, type MessageLog } from './messages.ts'
import { phoneFault, recipientsFault } from './recipients.ts'
import { REPORT_ALIASES, REPORTS_PATH, reportUrl, type ReportReceivers } from './report-receivers.ts'
import type { Sender } from './sender.ts'
import type { Policy } from '../../kernel/policy.ts'

/** Text for a header field: control characters, which would end it, are refused. */
const Line = (options: { minLength?: number; maxLength: number; examples?: string[] }) =>
  Type.String({
    ...options,
    pattern: '^[^\\u0000-\\u001f\\u007f]*$',
    description: 'One line, without control characters.',
  })
const address = (options: { examples?: string[] } = {}) =>
  withRule(Type.String({ maxLength: 1000, format: 'email', ...options }), addressFault)
const addresses = (options: { examples?: string[] } = {}) =>
  Type.Union([address(), Type.Array(address(), { maxItems: 50 })], {
    description: 'An address, or a list of addresses; at most 50 in to, cc and bcc in total.',
    ...options,
  })
const TO = { examples: ['ada@example.com'] }
const AttachmentFields = {
  filename: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[^\\u0000-\\u001f\\u007f/\\\\]+$',
      description: 'A file name without slashes and control characters. Default: that of the stored file.',
    }),
  ),
  contentType: Type.Optional(
    Type.String({
      maxLength: 200,
      pattern: '^[\\w.+-]+/[\\w.+-]+(; ?[\\w-]+="?[\\w.+-]+"?)*$',
      description: 'A media type, like application/pdf. Default: that of the stored file.',
    }),
  ),
  content: Type.Optional(
    withRule(Type.String({ description: 'The content in base64, if it is not a stored file.' }), (text) =>
      Buffer.from(text, 'base64').toString('base64') === text
        ? undefined
        : 'is not base64 (RFC 4648, section 4)',
    ),
  ),
  fileId: Type.Optional(
    Type.String({ pattern: idPattern, description: 'The _id of a stored file that the caller may read.' }),
  ),
}
const Attachment = withRule(Type.Object(AttachmentFields, { title: 'Attachment' }), attachmentFault)
const Phone = withRule(
  Type.String({
    maxLength: 100,
    description: 'In E.164, like +4915112345678.',
    examples: ['+4915112345678'],
  }),
  phoneFault,
)
const HttpsUrl = withRule(
  Type.String({ maxLength: 2000, format: 'uri', description: 'An https URL without credentials.' }),
  (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    return url?.protocol === 'https:' && url.username === '' && url.password === ''
      ? undefined
      : 'must be a URL that starts with https:// and has no credentials'
  },
)
const Body = Type.String({ minLength: 1, maxLength: 1600, examples: ['Hello, Ada.'] })

const Sent = <C extends (typeof CHANNELS)[number]>(channel: C) => ({
  messageId: Type.String({ description: 'The provider’s id of the message.' }),
  status: Type.Literal('sent'),
  channel: Type.Literal(channel),
  to: Type.String({ description: 'The recipient; several are joined with ", ".' }),
})
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
const ChannelHealthFields = {
  provider: Type.String(),
  status: Type.Enum(PROVIDER_STATUS),
}
const ChannelHealth = Type.Object(ChannelHealthFields, { title: 'ChannelHealth' })
const HealthFields = {
  providers: Type.Object({ email: ChannelHealth, sms: ChannelHealth, whatsapp: ChannelHealth }),
}
const Received = Type.Object({ received: Type.Literal(true) }, { title: 'Received' })
const RECEIVED = { received: true } as const

/** For each client address; a provider sends the reports on all messages from a few addresses. */
const REPORTS_LIMIT = '6000/min'

const sendErrors = [messagingErrors.send_failed, errors.provider_not_configured] as const

/** All routes of the wire. */
export function messagingRoutes({
  sender,
  receivers,
  list,
  policy,
  health,
  limit,
  providers,
  publicUrl,
}: {
  sender: Sender
  receivers: ReportReceivers
  list: MessageLog
  /** Decides which messages a caller may see. */
  policy: Policy
  health: () => Promise<MessagingHealth>
  limit: RateLimit
  providers: Providers
  publicUrl: string
}) {
  const sendSpec = (channel: Channel) =>
    ({
      access: 'user',
      limit: { rate: limit, name: `messaging ${channel}`, always: true, keys: true },
      idempotent: true,
      errors: sendErrors,
      errorDetails: { channel, provider: providers[channel][0]?.name ?? null },
    }) as const

  return [
    route(
      'POST /messaging/email',
      {
        ...sendSpec('email'),
        summary: 'Send an email',
        description:
          'Answers as soon as a provider accepted the email. Under the policy guarded, a user without the role admin may send to their own verified address only.',
        body: json(
          withRule(
            Type.Object({
              to: addresses(TO),
              subject: Line({ minLength: 1, maxLength: 998, examples: ['Hello'] }),
              body: Type.String({
                minLength: 1,
                description: 'The HTML of the email.',
                examples: ['<p>Hello, Ada.</p>'],
              }),
              text: Type.Optional(Type.String({ description: 'The text for readers without HTML.' })),
              cc: Type.Optional(addresses()),
              bcc: Type.Optional(addresses()),
              replyTo: Type.Optional(address()),
              attachments: Type.Optional(Type.Array(Attachment, { maxItems: 20 })),
            }),
            recipientsFault,
          ),
        ),
        reply: { 200: Type.Object(Sent('email')) },
      },
      ({ body, caller, recordId }) => sender.mail({ id: recordId, caller, ...body }),
    ),
    route(
      'POST /messaging/email/template',
      {
        ...sendSpec('email'),
        summary: 'Send an email from a template',
        body: json(
          Type.Object({
            to: address(TO),
            template: Type.String({ minLength: 1, maxLength: 100, examples: ['magic-link'] }),
            data: Type.Optional(
              Type.Record(Type.String(), Type.Unknown(), {
                description:
                  'Values for the template. A value that the template shows and that is missing is answered 400.',
                examples: [{ link: 'https://app.example/sign-in' }],
              }),
            ),
          }),
        ),
        reply: { 200: Type.Object({ ...Sent('email'), template: Type.String() }) },
      },
      async ({ body: { to, template, data = {} }, caller, recordId }) => ({
        ...(await sender.templated({ id: recordId, caller, to, template, data })),
        template,
      }),
    ),
    route(
      'POST /messaging/sms',
      {
        ...sendSpec('sms'),
        summary: 'Send an SMS',
        body: json(Type.Object({ to: Phone, body: Body })),
        reply: { 200: Type.Object(Sent('sms')) },
      },
      ({ body: { to, body }, caller, recordId }) =>
        sender.text({ id: recordId, caller, channel: 'sms', to, body }),
    ),
    route(
      'POST /messaging/whatsapp',
      {
        ...sendSpec('whatsapp'),
        summary: 'Send a WhatsApp message',
        description:
          'Twilio uses the url of the media only, and gets the content type from there; contentType and filename are ignored.',
        body: json(
          Type.Object({
            to: Phone,
            body: Body,
            media: Type.Optional(
              Type.Object({
                url: HttpsUrl,
                contentType: Type.Optional(Line({ maxLength: 200 })),
                filename: Type.Optional(Line({ maxLength: 255 })),
              }),
            ),
          }),
        ),
        reply: { 200: Type.Object(Sent('whatsapp')) },
      },
      ({ body: { to, body, media }, caller, recordId }) =>
        sender.text({ id: recordId, caller, channel: 'whatsapp', to, body, ...(media && { media }) }),
    ),
    route(
      'GET /messaging/logs',
      {
        summary: 'List messages',
        access: 'user',
        query: Type.Object({
          channel: Type.Optional(Type.Enum(CHANNELS)),
          to: Type.Optional(
            Type.String({ description: 'An address or number; recipients in cc and bcc match, too.' }),
          ),
          status: Type.Optional(Type.Enum(STATUSES)),
          ...PageQuery,
        }),
        reply: {
          200: Type.Object({
            logs: Type.Array(LogEntry),
            ...PageReply,
          }),
        },
      },
      async ({ caller, query }) => {
        const page = pageOf(query)
        return {
          ...(await list(policy.rowFilter(caller), query, page)),
          limit: page.limit,
          offset: page.offset,
        }
      },
    ),
    healthRoute(
      'GET /messaging/health',
      { title: 'MessagingHealth', summary: 'Check whether messages can be sent', fields: HealthFields },
      health,
    ),
    route(
      'POST /messaging/reports/:provider',
      {
        summary: 'Receive a delivery report from a provider',
        description:
          'Called by the provider, in its own format and with its own signature. If no provider of this name that sends reports is configured, the answer is 400.',
        access: 'public',
        authorize: (headers) => receivers.authorize(headers),
        limit: REPORTS_LIMIT,
        params: Type.Object({
          provider: Type.String({
            minLength: 1,
            maxLength: 100,
            description: 'The name of the provider, as in the log.',
            examples: ['twilio'],
          }),
        }),
        body: raw({ maxBytes: 65_536 }),
        reply: { 200: Received },
        errors: [receiveErrors.invalid_signature, errors.provider_not_configured, errors.unavailable],
      },
      async ({ params: { provider }, body }) => {
        const query = new URL(body.url, publicUrl).search
        const path = `${REPORTS_PATH}/${encodeURIComponent(provider)}`
        await receivers.receive(provider, { ...body, publicUrl: publicUrl + path + query })
        return RECEIVED
      },
    ),
    route(
      `POST ${REPORT_ALIASES.twilio}`,
      {
        summary: 'Receive a delivery report from Twilio',
        description:
          'Called by Twilio: https://www.twilio.com/docs/messaging/guides/track-outbound-message-status',
        access: 'public',
        authorize: (headers) => receivers.authorize(headers, 'twilio'),
        limit: REPORTS_LIMIT,
        query: Type.Object({ id: Type.Optional(Type.String({ pattern: idPattern })) }),
        headers: Type.Object({ 'x-twilio-signature': Type.Optional(Type.String({ maxLength: 200 })) }),
        body: form(
          Type.Object({
            MessageSid: Type.Optional(
              Type.String({ maxLength: 100, examples: ['SM00000000000000000000000000000001'] }),
            ),
            MessageStatus: Type.Optional(Type.String({ maxLength: 100, examples: ['delivered'] })),
            ErrorCode: Type.Optional(Type.String({ maxLength: 100 })),
          }),
          { maxBytes: 65_536 },
        ),
        reply: { 200: Received },
        errors: [receiveErrors.invalid_signature, errors.provider_not_configured, errors.unavailable],
      },
      async ({ query: { id }, headers, body }) => {
        await receivers.receive('twilio', {
          headers,
          bytes: Buffer.from(new URLSearchParams(body).toString()),
          contentType: FORM_TYPE,
          url: REPORT_ALIASES.twilio,
          publicUrl: reportUrl(publicUrl, 'twilio', id),
        })
        return RECEIVED
      },
    ),
    route(
      `POST ${REPORT_ALIASES.smtp}`,
      {
        summary: 'Report a bounced or delivered email',
        description: 'Send the value of MAIL_BOUNCE_SECRET as "Authorization: Bearer".',
        access: 'public',
        authorize: (headers) => receivers.authorize(headers, 'smtp'),
        limit: REPORTS_LIMIT,
        headers: Type.Object({ authorization: Type.String({ maxLength: 1000 }) }),
        body: json(
          Type.Object({
            messageId: Type.String({
              minLength: 1,
              maxLength: 998,
              description: 'The Message-ID of the email.',
              examples: ['<a1b2c3@example.com>'],
            }),
            status: Type.Optional(Type.Enum(['bounced', 'delivered'])),
            reason: Type.Optional(Line({ maxLength: 1000, examples: ['550 no such mailbox'] })),
          }),
          { maxBytes: 16_384 },
        ),
        reply: { 200: Received },
        errors: [receiveErrors.invalid_signature, errors.provider_not_configured, errors.unavailable],
      },
      async ({ headers, body }) => {
        await receivers.receive('smtp', {
          headers,
          bytes: Buffer.from(JSON.stringify(body)),
          contentType: JSON_MEDIA_TYPE,
          url: REPORT_ALIASES.smtp,
          publicUrl: publicUrl + REPORT_ALIASES.smtp,
        })
        return RECEIVED
      },
    ),
  ] as const
}
