import { Type } from '../../base/schema.ts'

import { RATE_LIMIT } from '../../http/limits.ts'
import type { RateLimit } from '../../http/route.ts'
import type { MailProvider, TextProvider } from './provider.ts'

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))

/** Providers as `smtp()` and `twilio()` make them, tried in this order. */
const providers = <P>() => Type.Optional(Type.Array(Type.Unsafe<P>({ type: 'object' }), { minItems: 1 }))

/** What the configuration may say of messages. */
export const MessagingOptions = Type.Object({
  smtp: Type.Optional(
    Type.Object({
      url: text('smtp://user:password@host:587, or smtps:// for TLS from the first byte on.'),
      from: text('Whom mail is from: an address, or a name with an address in angle brackets.'),
    }),
  ),
  twilio: Type.Optional(
    Type.Object({
      accountSid: text('AC…, from the console of Twilio.'),
      authToken: text('Also what signs the reports that Twilio sends back.'),
      from: text('The number that SMS come from, in E.164, or the SID of a messaging service.'),
      whatsappFrom: text('The number that WhatsApp messages come from, in E.164.'),
      apiBase: text('Where Twilio answers, where that is not https://api.twilio.com.'),
    }),
  ),
  email: providers<MailProvider>(),
  sms: providers<TextProvider>(),
  whatsapp: providers<TextProvider>(),
  templates: Type.String({
    minLength: 1,
    default: 'templates',
    description: 'Folder of the mail templates; a relative path starts in the application’s folder.',
  }),
  limit: Type.Unsafe<RateLimit>(
    Type.String({
      pattern: RATE_LIMIT,
      default: '60/min',
      description: 'How many messages a user may send in each channel, like 60/min or 1000/hour.',
    }),
  ),
  keepLogsDays: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 36_500,
      description: 'After how many days a message that is settled leaves the log. Without it none does.',
    }),
  ),
  bounceSecret: Type.Optional(
    Type.String({
      minLength: 16,
      maxLength: 512,
      pattern: '^[!-~]([ -~]*[!-~])?$',
      description:
        'The bearer token of POST /messaging/email/bounce: ASCII, since a header can hold no more for certain.',
    }),
  ),
})

/** The environment variables of the providers. */
export const MESSAGING_PROVIDERS = {
  smtp: {
    env: { SMTP_URL: 'url', MAIL_FROM: 'from' },
    standInTakes: ['from'],
    replacedBy: { email: ['url', 'from'] },
  },
  twilio: {
    env: {
      TWILIO_ACCOUNT_SID: 'accountSid',
      TWILIO_AUTH_TOKEN: 'authToken',
      TWILIO_FROM: 'from',
      TWILIO_WHATSAPP_FROM: 'whatsappFrom',
      TWILIO_API_BASE: 'apiBase',
    },
    replacedBy: { sms: ['from'], whatsapp: ['whatsappFrom'] },
  },
} as const
