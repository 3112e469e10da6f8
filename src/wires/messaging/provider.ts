import type { Outcome as OutcomeWith } from '../../providers/outcome.ts'
import type { Receiver } from '../../providers/receive.ts'

/** How a message reaches people. */
export const CHANNELS = ['email', 'sms', 'whatsapp'] as const
export type Channel = (typeof CHANNELS)[number]

/** An address that was refused while the mail went to the others. */
export type RefusedRecipient = { address: string; reason: string }

/**
 * What a provider says of a message that it took: `id` is what it calls the message, `refusedRecipients` are those of
 * several recipients that it does not send it to.
 */
export type Accepted = { id: string; refusedRecipients?: readonly RefusedRecipient[] }

/** How sending ended; see `providers/outcome.ts`. */
export type Outcome = OutcomeWith<Accepted>

export type Attachment = { filename: string; contentType: string; content: Buffer }

/** A mail as a provider gets it: every address was checked alone, no field holds a line break. */
export type OutgoingMail = {
  /** Without angle brackets; the same for every try, so that a recipient who gets it twice can tell. */
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

export type OutgoingText = {
  /** Our id. */
  id: string
  /** E.164. */
  to: string
  body: string
  media?: { url: string; contentType?: string; filename?: string }
  /** The absolute URL for reports of what becomes of it; its parameter `id` is our id. */
  reportTo?: string
}

/** What a provider reports of a text after it took it. */
export type TextReport = {
  /** Our id, from the URL that the report was sent to. */
  id: string
  /** What the provider calls it. */
  messageId: string
  status: 'sent' | 'delivered' | 'failed'
  /** Why it failed, one line. */
  error?: string
}

/** What is reported of a mail after a provider took it. */
export type MailReport = {
  /** The Message-ID, with or without angle brackets, or what the provider calls the mail. */
  messageId: string
  status: 'bounced' | 'delivered'
  /** Why it bounced, one line. */
  reason?: string
}

type Provider<Report> = Partial<Receiver<Report>> & {
  /** As logs and `details.provider` show it: `smtp`, `twilio`. Its reports go to `/messaging/reports/` and this name. */
  readonly name: string
  /** Rejects, with a sentence for the operator, if the provider cannot be reached or does not know us. */
  check(): Promise<void>
  /** Resolves when nothing that it was to send is under way. */
  close(): Promise<void>
}

export type MailProvider = Provider<MailReport> & {
  readonly channel: 'email'
  /** Resolves within `limitMs`, whatever happens; never rejects. */
  send(mail: OutgoingMail, limitMs: number): Promise<Outcome>
}

/** A provider of text messages, of one channel. */
export type TextProvider = Provider<TextReport> & {
  readonly channel: 'sms' | 'whatsapp'
  /** Resolves within `limitMs`, whatever happens; never rejects. */
  send(text: OutgoingText, limitMs: number): Promise<Outcome>
  /**
   * Looks for a message whose outcome is unknown, created at or after this time (milliseconds).
   *
   * @returns the provider's ids of all that it may be, oldest first, since equal texts cannot be told apart; none if
   *   it certainly has no such message
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
