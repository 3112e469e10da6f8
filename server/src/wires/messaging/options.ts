import { Type } from '../../base/schema.ts'

import { RATE_LIMIT } from '../../http/limits.ts'
import type { RateLimit } from '../../http/route.ts'
import { openText } from '../../kernel/config/masked.ts'
import type { MailProvider, TextProvider } from './providers/provider.ts'
import { BUILT_IN_LANGUAGE, LANGUAGE } from './language.ts'

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))

/** How long the parts of a text are that an administrator writes. */
export const LONGEST_PARTS = { subject: 300, html: 50_000, text: 20_000 }

/** A part of a template. Everybody gets it: it holds no secret. */
const written = (maxLength: number) => openText(Type.Optional(Type.String({ minLength: 1, maxLength })))

/** Providers, such as those that `smtp()` and `twilio()` create, in the order in which they are tried. */
const providers = <P>() => Type.Optional(Type.Array(Type.Unsafe<P>({ type: 'object' }), { minItems: 1 }))

/** The options of the messaging wire. */
export const MessagingOptions = Type.Object({
  smtp: Type.Optional(
    Type.Object({
      url: text('smtp://user:password@host:587, or smtps:// for TLS from the first byte.'),
      from: text('The sender: an address, or a name with an address in angle brackets.'),
    }),
  ),
  twilio: Type.Optional(
    Type.Object({
      accountSid: text('The account SID (AC…) from the Twilio console.'),
      authToken: text('The auth token of the account. Twilio signs its reports with it, too.'),
      from: text('The sender of SMS: a number in E.164, or the SID of a messaging service.'),
      whatsappFrom: text('The sender of WhatsApp messages: a number in E.164.'),
      apiBase: text('The address of Twilio’s API. Default: https://api.twilio.com.'),
    }),
  ),
  email: providers<MailProvider>(),
  sms: providers<TextProvider>(),
  whatsapp: providers<TextProvider>(),
  templates: Type.String({
    minLength: 1,
    default: 'templates',
    description: 'The folder of the email templates, relative to the application’s folder.',
  }),
  language: Type.String({
    pattern: LANGUAGE,
    default: BUILT_IN_LANGUAGE,
    description:
      'The language of mails to persons whose language is not known: en, de, pt-BR. The templates of the folder are in it.',
  }),
  texts: Type.Record(
    Type.String({ pattern: '^[a-z0-9-]{1,100}$' }),
    Type.Record(
      Type.String({ pattern: LANGUAGE }),
      Type.Object({
        subject: written(LONGEST_PARTS.subject),
        html: written(LONGEST_PARTS.html),
        text: written(LONGEST_PARTS.text),
      }),
    ),
    {
      default: {},
      description:
        'Texts of mails and text messages, as templates, by the names of these and by languages. A file of the folder takes precedence.',
    },
  ),
  limit: Type.Unsafe<RateLimit>(
    Type.String({
      pattern: RATE_LIMIT,
      default: '60/min',
      description: 'How many messages a user may send in each channel: 60/min, 1000/hour.',
    }),
  ),
  keepLogsDays: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 36_500,
      description: 'After how many days messages in a final state are deleted from the log. Default: never.',
    }),
  ),
  keepFailedDays: Type.Integer({
    minimum: 0,
    maximum: 365,
    default: 3,
    description:
      'For how many days the content of a failed message is kept, encrypted, so that it can be sent again.',
  }),
  bounceSecret: Type.Optional(
    Type.String({
      minLength: 16,
      maxLength: 512,
      pattern: '^[!-~]([ -~]*[!-~])?$',
      description:
        'The bearer token of POST /messaging/email/bounce, in ASCII: servers read other characters of a header differently.',
    }),
  ),
})

/** The environment variables of the providers. */
export const MESSAGING_PROVIDERS = {
  smtp: {
    env: { SMTP_URL: 'url', MAIL_FROM: 'from' },
    sharedWithSandbox: ['from'],
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

/** What administrators may set while the server runs. */
export const MESSAGING_SETTABLE = [
  'smtp',
  'twilio.accountSid',
  'twilio.authToken',
  'twilio.from',
  'twilio.whatsappFrom',
  'language',
  'texts.*.*',
  'limit',
  'keepLogsDays',
  'keepFailedDays',
  'bounceSecret',
] as const
