import { parseJson } from '../../../base/json.ts'
import type { Channel, OutgoingMail, OutgoingText, SendOutcome, Providers } from '../providers/provider.ts'

/** What a provider is given to send. */
export type MessageContent =
  | { channel: 'email'; mail: OutgoingMail }
  | { channel: 'sms' | 'whatsapp'; text: OutgoingText }

/** A provider, ours or an operator's own, with the message that it is to send. */
export type Sendable = {
  readonly name: string
  send: (limitMs: number) => Promise<SendOutcome>
  /** What the provider calls each message that may be this one, oldest first. */
  find?: (since: number, limitMs: number) => Promise<readonly string[]>
}

/** A mail that comes twice can be told by its Message-ID; a text cannot be told from another one. */
export const isRepeatable = (channel: Channel): boolean => channel === 'email'

/** @param reportTo the URL for the reports of a text, by its provider's name and our id of it */
export function sendablesOf(
  content: MessageContent,
  providers: Providers,
  reportTo: (provider: string, id: string) => string,
): Sendable[] {
  if (content.channel === 'email')
    return providers.email.map((one) => ({
      name: one.name,
      send: (limitMs) => one.send(content.mail, limitMs),
    }))
  const { text } = content
  return providers[content.channel].map((one) => ({
    name: one.name,
    // Not stored with the text: the public URL of this server may change before the next try.
    send: (limitMs) => one.send({ ...text, reportTo: reportTo(one.name, text.id) }, limitMs),
    ...(one.find && { find: (since: number, limitMs: number) => one.find!(text, since, limitMs) }),
  }))
}

/** As text, to be sealed. */
export function writeContent(content: MessageContent): string {
  if (content.channel !== 'email') return JSON.stringify(content)
  const attachments = content.mail.attachments.map((one) => ({
    ...one,
    content: one.content.toString('base64'),
  }))
  return JSON.stringify({ ...content, mail: { ...content.mail, attachments } })
}

export function readContent(text: string): MessageContent {
  const content = parseJson(text) as MessageContent
  if (content.channel !== 'email') return content
  const attachments = content.mail.attachments.map((one) => ({
    ...one,
    content: Buffer.from(one.content as unknown as string, 'base64'),
  }))
  return { ...content, mail: { ...content.mail, attachments } }
}
