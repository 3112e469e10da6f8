import type { Outcome as OutcomeWith } from '../../../providers/outcome.ts'
import type { Receiver } from '../../../providers/receive.ts'

/** How a message reaches people. */
export const CHANNELS = ['email', 'sms', 'whatsapp'] as const
export type Channel = (typeof CHANNELS)[number]

/** An address that the provider refused, while it accepted the email for the others. */
export type RefusedRecipient = { address: string; reason: string }

/**
 * What a provider says of a message that it took: `id` is what it calls the message, `refusedRecipients` are those of
 * several recipients that it does not send it to.
 */
export type AcceptedMessage = { id: string; refusedRecipients?: readonly RefusedRecipient[] }

/** How sending ended; see `providers/outcome.ts`. */
export type SendOutcome = OutcomeWith<AcceptedMessage>

/** A file that is attached to an email. */
export type Attachment = { filename: string; contentType: string; content: Buffer }

/** An email for a provider: each address was parsed separately, and no header field has a line break. */
export type OutgoingMail = {
  /** Without angle brackets; the same in every attempt, so that a duplicate can be recognised. */
  messageId: string
  to: readonly string[]
  cc: readonly string[]
  bcc: readonly string[]
  replyTo?: string
  subject: string
  html: string
  text?: string
  attachments: readonly Attachment[]
}

/** An SMS or WhatsApp message for a provider. */
export type OutgoingText = {
  /** The id of the message in the log. */
  id: string
  /** E.164. */
  to: string
  body: string
  media?: { url: string; contentType?: string; filename?: string }
  /** The absolute URL for the provider's delivery reports; its parameter `id` is this `id`. */
  reportTo?: string
}

/** A delivery report on an SMS or WhatsApp message. */
export type TextReport = {
  /** The id of the message in the log, from the URL that the report was sent to. */
  id: string
  /** The provider's id of the message. */
  messageId: string
  status: 'sent' | 'delivered' | 'failed'
  /** The reason of a failure, one line. */
  error?: string
}

/** A report on an email that a provider accepted. */
export type MailReport = {
  /** The Message-ID, with or without angle brackets, or the provider's id of the email. */
  messageId: string
  status: 'bounced' | 'delivered'
  /** The reason of a bounce, one line. */
  reason?: string
}

type Provider<Report> = Partial<Receiver<Report>> & {
  /** The name in logs and in `details.provider`: `smtp`, `twilio`. Reports go to `/messaging/reports/` and this name. */
  readonly name: string
  /** Rejects, with a sentence for the operator, if the provider cannot be reached or refuses the credentials. */
  check(): Promise<void>
  /** What a start warns of in the provider's options, one line each, which begins with the setting. Default: nothing. */
  readonly warnings?: readonly string[]
  /** Resolves when no call is in progress. */
  close(): Promise<void>
}

/** A provider of email, such as `smtp()`. `receive` and `authorize` are optional. */
export type MailProvider = Provider<MailReport> & {
  readonly channel: 'email'
  /** Sends an email. Resolves within `limitMs` milliseconds and never rejects. */
  send(mail: OutgoingMail, limitMs: number): Promise<SendOutcome>
}

/** A provider of SMS or of WhatsApp messages, such as `twilio()`. `find`, `receive` and `authorize` are optional. */
export type TextProvider = Provider<TextReport> & {
  readonly channel: 'sms' | 'whatsapp'
  /** Sends a message. Resolves within `limitMs` milliseconds and never rejects. */
  send(text: OutgoingText, limitMs: number): Promise<SendOutcome>
  /**
   * Looks up a message whose outcome is unknown.
   *
   * @param since milliseconds since 1970; the provider created the message at this time or later
   * @param limitMs milliseconds for the call
   * @returns the provider's ids of all messages that it may be, oldest first, because equal texts cannot be
   *   distinguished; an empty list if the provider certainly has no such message
   * @throws Error if the provider cannot be asked within `limitMs`
   */
  find?(text: OutgoingText, since: number, limitMs: number): Promise<readonly string[]>
}

/** The providers of each channel, in the order in which they are tried. */
export type Providers = {
  readonly email: readonly MailProvider[]
  readonly sms: readonly TextProvider[]
  readonly whatsapp: readonly TextProvider[]
}
