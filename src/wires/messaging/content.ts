import { parseJson } from '../../base/json.ts'
import type { Channel } from './errors.ts'
import type { MailProvider, OutgoingMail, OutgoingText, Outcome, TextProvider } from './provider.ts'

/** What a provider is to be handed. */
export type Content =
  | { channel: 'email'; mail: OutgoingMail }
  | { channel: 'sms' | 'whatsapp'; text: OutgoingText }

/** Those who send, by channel, in the order in which they are tried. */
export type Providers = {
  readonly email: readonly MailProvider[]
  readonly sms: readonly TextProvider[]
  readonly whatsapp: readonly TextProvider[]
}

/** A provider with what it is to send. */
export type Carrier = {
  readonly name: string
  /** Resolves within `limitMs`; never rejects. */
  send(limitMs: number): Promise<Outcome>
  find?: (since: number) => Promise<string | undefined>
}

/** A mail that comes twice can be told by its Message-ID; a text can't be told from another one. */
export const isRepeatable = (channel: Channel): boolean => channel === 'email'

export function carriersOf(content: Content, providers: Providers): Carrier[] {
  if (content.channel === 'email')
    return providers.email.map((one) => ({
      name: one.name,
      send: (limitMs) => one.send(content.mail, limitMs),
    }))
  return providers[content.channel].map((one) => ({
    name: one.name,
    send: (limitMs) => one.send(content.text, limitMs),
    ...(one.find && { find: (since: number) => one.find!(content.text, since) }),
  }))
}

/** As text, to be sealed. */
export function writeContent(content: Content): string {
  if (content.channel !== 'email') return JSON.stringify(content)
  const attachments = content.mail.attachments.map((one) => ({
    ...one,
    content: one.content.toString('base64'),
  }))
  return JSON.stringify({ ...content, mail: { ...content.mail, attachments } })
}

export function readContent(text: string): Content {
  const content = parseJson(text) as Content
  if (content.channel !== 'email') return content
  const attachments = content.mail.attachments.map((one) => ({
    ...one,
    content: Buffer.from(one.content as unknown as string, 'base64'),
  }))
  return { ...content, mail: { ...content.mail, attachments } }
}
