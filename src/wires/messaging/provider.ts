/** How a message reaches people. */
export const CHANNELS = ['email', 'sms', 'whatsapp'] as const
export type Channel = (typeof CHANNELS)[number]

/** An address that was refused while the mail went to the others. */
export type RefusedRecipient = { address: string; reason: string }

/**
 * How a provider's call ended:
 * - `accepted`: the provider has it; `id` is what the provider calls it, `refusedRecipients` those of several that it
 *   does not take it for;
 * - `refused`: for good, another try would end alike;
 * - `retry`: certainly not accepted, another try may be;
 * - `unknown`: it may have been accepted, the answer was lost.
 */
export type Outcome =
  | { kind: 'accepted'; id: string; refusedRecipients?: readonly RefusedRecipient[] }
  | { kind: 'refused'; reason: string }
  | { kind: 'retry'; reason: string; afterMs?: number }
  | { kind: 'unknown'; reason: string }

export type Attachment = { filename: string; contentType: string; content: Buffer }

/** A mail as a provider is handed it: every address was checked alone, no field holds a line break. */
export type OutgoingMail = {
  /** Without angle brackets; the same for every try, so that whoever gets it twice can tell. */
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
  /** Ours. */
  id: string
  /** E.164. */
  to: string
  body: string
  media?: { url: string; contentType?: string; filename?: string }
  /** The absolute address for reports of what becomes of it, in Twilio's form; it holds our id. */
  reportTo?: string
}

type Provider = {
  /** As it stands in logs and in `details.provider`: `smtp`, `twilio`. */
  readonly name: string
  /** Rejects, with a sentence for the operator, where the provider can't be reached or doesn't know us. */
  check(): Promise<void>
  close(): Promise<void>
}

export type MailProvider = Provider & {
  readonly channel: 'email'
  /** Resolves within `limitMs`, whatever happens; never rejects. */
  send(mail: OutgoingMail, limitMs: number): Promise<Outcome>
}

/** A provider of text messages, of one channel. */
export type TextProvider = Provider & {
  readonly channel: 'sms' | 'whatsapp'
  /** Resolves within `limitMs`, whatever happens; never rejects. */
  send(text: OutgoingText, limitMs: number): Promise<Outcome>
  /**
   * Looks for a message whose outcome is unknown, made at or after this time (milliseconds).
   *
   * @returns the provider's ids of all that it may be, oldest first, since equal texts can't be told apart; none where
   *   it certainly has no such message
   * @throws Error where the provider can't be asked within `limitMs`
   */
  find?(text: OutgoingText, since: number, limitMs: number): Promise<readonly string[]>
  /**
   * Whether a report comes from this provider.
   *
   * @param url the `reportTo` that it was sent to
   * @param params the fields of its form
   * @param signature the header `X-Twilio-Signature`
   */
  signed?(url: string, params: Readonly<Record<string, string>>, signature: string): boolean
}

/** Those who send, by channel, in the order in which they are tried. */
export type Providers = {
  readonly email: readonly MailProvider[]
  readonly sms: readonly TextProvider[]
  readonly whatsapp: readonly TextProvider[]
  /** The address for reports of a text, by our id of it. */
  reportTo(id: string | undefined): string
}
