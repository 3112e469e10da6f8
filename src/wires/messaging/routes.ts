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
import { messagingErrors } from './errors.ts'
import { CHANNELS, type Channel, type Providers } from './provider.ts'
import type { MessagingHealth } from './health.ts'
import { STATUSES, type MessageLog } from './messages.ts'
import { phoneFault, recipientsFault } from './recipients.ts'
import { REPORT_ALIASES, REPORTS_PATH, reportUrl, type ReportReceivers } from './report-receivers.ts'
import type { Sender } from './sender.ts'
import type { Policy } from '../../kernel/policy.ts'

/** Header fields are lines: whatever would break one is refused. */
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
    description: 'One address, or a list of them; at most 50 in to, cc and bcc together.',
    ...options,
  })
const TO = { examples: ['ada@example.com'] }
const AttachmentFields = {
  filename: Type.String({
    minLength: 1,
    maxLength: 255,
    pattern: '^[^\\u0000-\\u001f\\u007f/\\\\]+$',
    description: 'A name without slashes and control characters.',
  }),
  contentType: Type.String({
    maxLength: 200,
    pattern: '^[\\w.+-]+/[\\w.+-]+(; ?[\\w-]+="?[\\w.+-]+"?)*$',
    description: 'A media type, like application/pdf.',
  }),
  content: withRule(Type.String({ description: 'The bytes in base64.' }), (text) =>
    Buffer.from(text, 'base64').toString('base64') === text
      ? undefined
      : 'is not base64 (RFC 4648, section 4)',
  ),
  fileId: Type.Optional(Type.Unknown({ description: 'Not part of this version: send the content.' })),
}
const Attachment = withRule(Type.Object(AttachmentFields, { title: 'Attachment' }), ({ fileId }) =>
  fileId === undefined
    ? undefined
    : {
        path: '/fileId',
        message: 'stored files can’t be attached in this version: send the content in base64',
      },
)
const Phone = withRule(
  Type.String({ maxLength: 100, description: 'E.164: +4915112345678', examples: ['+4915112345678'] }),
  phoneFault,
)
const HttpsUrl = withRule(
  Type.String({ maxLength: 2000, format: 'uri', description: 'https only.' }),
  (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    return url?.protocol === 'https:' && url.username === '' && url.password === ''
      ? undefined
      : 'must be an address that begins with https://'
  },
)
const Body = Type.String({ minLength: 1, maxLength: 1600, examples: ['Hello, Ada.'] })

const Sent = <C extends (typeof CHANNELS)[number]>(channel: C) => ({
  messageId: Type.String({ description: 'What the provider calls it.' }),
  status: Type.Literal('sent'),
  channel: Type.Literal(channel),
  to: Type.String({ description: 'Several are joined with ", ".' }),
})
const LogFields = {
  _id: Type.String(),
  channel: Type.Enum(CHANNELS),
  to: Type.String(),
  subject: Type.Optional(
    Type.String({ description: 'Of mail that a caller sent; never of the service’s own.' }),
  ),
  template: Type.Optional(Type.String()),
  status: Type.Enum(STATUSES),
  messageId: Type.Optional(
    Type.String({ description: 'What the provider calls it; absent until it took it.' }),
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

/** A provider reports on all messages from a few addresses. */
const REPORTS_LIMIT = '6000/min'

const sendErrors = [messagingErrors.send_failed, errors.provider_not_configured] as const

/** Everything that the wire answers. */
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
  /** Says which messages a caller sees. */
  policy: Policy
  health: () => Promise<MessagingHealth>
  limit: RateLimit
  providers: Providers
  publicUrl: string
}) {
  const sending = (channel: Channel) =>
    ({
      access: 'user',
      limit,
      limitAlways: true,
      limitName: `messaging ${channel}`,
      idempotent: true,
      errors: sendErrors,
      errorDetails: { channel, provider: providers[channel][0]?.name ?? null },
    }) as const

  return [
    route(
      'POST /messaging/email',
      {
        ...sending('email'),
        summary: 'Send an email',
        description:
          'Answers once a provider took it. Under the policy guarded a plain user may only write to their own address.',
        body: json(
          withRule(
            Type.Object({
              to: addresses(TO),
              subject: Line({ minLength: 1, maxLength: 998, examples: ['Hello'] }),
              body: Type.String({ minLength: 1, description: 'HTML.', examples: ['<p>Hello, Ada.</p>'] }),
              text: Type.Optional(Type.String({ description: 'The same for readers without HTML.' })),
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
        ...sending('email'),
        summary: 'Send an email from a template',
        body: json(
          Type.Object({
            to: address(TO),
            template: Type.String({ minLength: 1, maxLength: 100, examples: ['magic-link'] }),
            data: Type.Optional(
              Type.Record(Type.String(), Type.Unknown(), {
                description: 'Values for the template; one that it needs and that is missing is a 400.',
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
        ...sending('sms'),
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
        ...sending('whatsapp'),
        summary: 'Send a WhatsApp message',
        description:
          'Of the media Twilio is told the url only, which it asks for the type; contentType and filename are not used.',
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
        summary: 'List messages, newest first',
        access: 'user',
        query: Type.Object({
          channel: Type.Optional(Type.Enum(CHANNELS)),
          to: Type.Optional(
            Type.String({ description: 'Everybody whom it went to, those in copy as well.' }),
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
        summary: 'Receive a delivery report of a provider',
        description:
          'For the provider, in its own format and signed as it signs. A provider that is not configured, or sends no reports, is a 400.',
        access: 'public',
        authorize: (headers) => receivers.authorize(headers),
        limit: REPORTS_LIMIT,
        params: Type.Object({
          provider: Type.String({
            minLength: 1,
            maxLength: 100,
            description: 'The name of the provider, as the log shows it.',
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
        summary: 'Receive a delivery report of Twilio',
        description: 'https://www.twilio.com/docs/messaging/guides/track-outbound-message-status',
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
        summary: 'Receive a report of a bounced or delivered email',
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
