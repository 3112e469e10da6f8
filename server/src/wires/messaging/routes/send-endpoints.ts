import { addressFault } from '../../../base/email-address.ts'
import { errors } from '../../../base/errors.ts'
import { idPattern } from '../../../base/ids.ts'
import { Type } from '../../../base/schema.ts'
import { withRule } from '../../../base/with-rule.ts'
import { json } from '../../../http/bodies.ts'
import { endpoint, type RateLimit } from '../../../http/route.ts'
import { attachmentFault } from '../messages/attachments.ts'
import { messagingErrors } from '../errors.ts'
import type { CHANNELS, Channel, Providers } from '../providers/provider.ts'
import { phoneFault, recipientsFault, whatsAppFault } from '../messages/recipients.ts'
import { Line } from './schemas.ts'
import { LANGUAGE } from '../language.ts'
import type { Sender } from '../outbox/sender.ts'

const address = (options: { examples?: string[] } = {}) =>
  withRule(Type.String({ maxLength: 1000, format: 'email', ...options }), addressFault)
const Recipients = Type.Union([address(), Type.Array(address(), { maxItems: 50 })], {
  title: 'Recipients',
  description: 'An address, or a list of addresses; at most 50 in to, cc and bcc in total.',
})
const TO = { examples: ['ada@example.com'] }
const EMAIL = { to: 'ada@example.com', subject: 'Hello', body: '<p>Hello, Ada.</p>' }
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
const PhoneText = Type.String({
  maxLength: 100,
  description: 'In E.164, like +4915112345678.',
  examples: ['+4915112345678'],
})
const Phone = withRule(PhoneText, phoneFault)
const WhatsAppPhone = withRule(PhoneText, whatsAppFault)
const HttpsUrl = withRule(
  Type.String({ maxLength: 2000, format: 'uri', description: 'An https URL without credentials.' }),
  (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    return url?.protocol === 'https:' && url.username === '' && url.password === ''
      ? undefined
      : 'must be a URL that starts with https:// and has no credentials'
  },
)
const BODY_UNITS = 1600
const Body = withRule(
  Type.String({
    minLength: 1,
    maxLength: BODY_UNITS,
    description: `At most ${BODY_UNITS} UTF-16 code units: most emoji are two.`,
    examples: ['Hello, Ada.'],
  }),
  // JSON Schema counts code points, and providers count these.
  ({ length }) =>
    length > BODY_UNITS ? `has ${length} UTF-16 code units: at most ${BODY_UNITS} can be sent` : undefined,
)

const Sent = <C extends (typeof CHANNELS)[number]>(channel: C) => ({
  messageId: Type.String({ description: 'The provider’s id of the message.' }),
  status: Type.Literal('sent'),
  channel: Type.Literal(channel),
  to: Type.String({ description: 'The recipient; several are joined with ", ".' }),
})
const sendErrors = [messagingErrors.send_failed, errors.provider_not_configured] as const

/** The endpoints that send a message. */
export function sendEndpoints({
  sender,
  limit,
  providers,
}: {
  sender: Sender
  limit: RateLimit
  providers: Providers
}) {
  const sendSpec = (channel: Channel) =>
    ({
      access: 'user',
      limit: { rate: limit, name: `messaging ${channel}`, always: true, keys: true },
      idempotent: true,
      errors: sendErrors,
      errorDetails: { channel, provider: providers[channel][0]?.name ?? null },
    }) as const

  return {
    email: endpoint(
      {
        ...sendSpec('email'),
        summary: 'Send an email',
        description:
          'Answers as soon as a provider accepted the email. Under the policy guarded, a user without the role admin may send to their own verified address only.',
        body: json(
          withRule(
            Type.Object(
              {
                to: Recipients,
                subject: Line({ minLength: 1, maxLength: 998, examples: ['Hello'] }),
                body: Type.String({
                  minLength: 1,
                  description: 'The HTML of the email.',
                  examples: ['<p>Hello, Ada.</p>'],
                }),
                text: Type.Optional(Type.String({ description: 'The text for readers without HTML.' })),
                cc: Type.Optional(Recipients),
                bcc: Type.Optional(Recipients),
                replyTo: Type.Optional(address()),
                attachments: Type.Optional(Type.Array(Attachment, { maxItems: 20 })),
              },
              { title: 'SendEmailRequest', examples: [EMAIL] },
            ),
            recipientsFault,
          ),
        ),
        reply: { 200: Type.Object(Sent('email'), { title: 'SentEmail' }) },
      },
      ({ body, caller, recordId }) => sender.mail({ id: recordId, caller, ...body }),
    ),
    template: endpoint(
      {
        ...sendSpec('email'),
        summary: 'Send an email from a template',
        body: json(
          Type.Object(
            {
              to: address(TO),
              template: Type.String({ minLength: 1, maxLength: 100, examples: ['magic-link'] }),
              language: Type.Optional(
                Type.String({
                  pattern: LANGUAGE,
                  description:
                    'Of whom it is to. Without a text in it, that of the default language is sent.',
                  examples: ['de'],
                }),
              ),
              data: Type.Optional(
                Type.Record(Type.String(), Type.Unknown(), {
                  description:
                    'Values for the template. A value that the template shows and that is missing is answered 400.',
                  examples: [{ link: 'https://app.example/sign-in' }],
                }),
              ),
            },
            { title: 'SendTemplateRequest' },
          ),
        ),
        reply: { 200: Type.Object({ ...Sent('email'), template: Type.String() }, { title: 'SentTemplate' }) },
      },
      async ({ body: { to, template, data = {}, language }, caller, recordId }) => ({
        ...(await sender.templated({ id: recordId, caller, to, template, data, language })),
        template,
      }),
    ),
    sms: endpoint(
      {
        ...sendSpec('sms'),
        summary: 'Send an SMS',
        body: json(Type.Object({ to: Phone, body: Body }, { title: 'SendSmsRequest' })),
        reply: { 200: Type.Object(Sent('sms'), { title: 'SentSms' }) },
      },
      ({ body: { to, body }, caller, recordId }) =>
        sender.text({ id: recordId, caller, channel: 'sms', to, body }),
    ),
    whatsapp: endpoint(
      {
        ...sendSpec('whatsapp'),
        summary: 'Send a WhatsApp message',
        description:
          'Twilio uses the url of the media only, and gets the content type from there; contentType and filename are ignored.',
        body: json(
          Type.Object(
            {
              to: WhatsAppPhone,
              body: Body,
              media: Type.Optional(
                Type.Object(
                  {
                    url: HttpsUrl,
                    contentType: Type.Optional(Line({ maxLength: 200 })),
                    filename: Type.Optional(Line({ maxLength: 255 })),
                  },
                  { title: 'WhatsappMedia' },
                ),
              ),
            },
            { title: 'SendWhatsappRequest' },
          ),
        ),
        reply: { 200: Type.Object(Sent('whatsapp'), { title: 'SentWhatsapp' }) },
      },
      ({ body: { to, body, media }, caller, recordId }) =>
        sender.text({ id: recordId, caller, channel: 'whatsapp', to, body, ...(media && { media }) }),
    ),
  }
}
