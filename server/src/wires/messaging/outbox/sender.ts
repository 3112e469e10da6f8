import { parseAddress, emailKey } from '../../../base/email-address.ts'
import { errors } from '../../../base/errors.ts'
import type { Step } from '../../../db/database.ts'
import type { Caller } from '../../../http/access.ts'
import type { AttachmentInput, Attachments } from '../messages/attachments.ts'
import type { MessageContent } from '../messages/message-content.ts'
import { notConfigured } from '../errors.ts'
import type { Outbox } from './outbox.ts'
import type { OutboxMessage } from './outbox-rows.ts'
import type { Channel, OutgoingMail, OutgoingText, Providers } from '../providers/provider.ts'
import { mailRecipients } from '../messages/recipients.ts'
import type { Templates } from '../rendering/templates.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

/** From the request's first byte on; what comes before and after the calls of providers takes some of 15 s. */
const REQUEST_MS = 14_000

/** Who has it sent, and the id of the message. */
type Call = { id: string; caller: Caller }

/** What is sent from a template, and in which language if that is known. */
type Templated = {
  to: string
  template: string
  data: Record<string, unknown>
  language?: string | undefined
}

type Sent<C extends Channel> = { messageId: string; status: 'sent'; channel: C; to: string }

/** Checks what is to be sent, who may send it, and hands it to the outbox. */
export type Sender = {
  /** @throws VALIDATION_ERROR, FORBIDDEN, PROVIDER_NOT_CONFIGURED, SEND_FAILED, as the others */
  mail(
    mail: Call & {
      to: string | string[]
      cc?: string | string[]
      bcc?: string | string[]
      replyTo?: string
      subject: string
      body: string
      text?: string
      attachments?: AttachmentInput[]
    },
  ): Promise<Sent<'email'>>
  templated(mail: Call & Templated): Promise<Sent<'email'>>
  text<C extends 'sms' | 'whatsapp'>(
    text: Call & { channel: C; to: string; body: string; media?: NonNullable<OutgoingText['media']> },
  ): Promise<Sent<C>>
  /** The steps that queue a mail of the service itself. */
  ownMail(mail: { id: string } & Templated): Promise<Step[]>
  /** The steps that queue an SMS of the service itself. */
  ownText(text: { id: string } & Templated): Promise<Step[]>
}

/** @param options.domain what Message-IDs end with */
export function createSender(
  { policy }: Pick<WireContext, 'policy'>,
  {
    attachments,
    outbox,
    templates,
    providers,
  }: {
    attachments: Attachments
    outbox: Outbox
    templates: Templates
    providers: Providers
  },
  options: { domain: string },
): Sender {
  const messageIdOf = (id: string): string => `${id}@${options.domain}`

  function needProvider(channel: Channel): void {
    if (providers[channel].length === 0) throw notConfigured(channel)
  }

  /** Callers who may touch only their own records may send mail to their own verified address only: no open relay. */
  function checkReceivers(caller: Caller, channel: Channel, keys: readonly string[]): void {
    if (policy.rowFilter(caller).rows === 'all') return
    const own =
      caller.kind === 'user' && caller.emailVerified && channel === 'email'
        ? emailKey(caller.email)
        : undefined
    if (keys.some((key) => key !== own))
      throw errors.forbidden({
        message: 'You may send mail to your own verified address only: others need the role "admin".',
      })
  }

  async function send<C extends Channel>(
    message: Omit<OutboxMessage, 'owner' | 'content'> & {
      caller: Caller
      content: MessageContent & { channel: C }
    },
  ): Promise<Sent<C>> {
    const { caller, content, keys, recipient } = message
    needProvider(content.channel)
    checkReceivers(caller, content.channel, keys)
    const { messageId } = await outbox.send({ ...message, owner: caller.id }, REQUEST_MS)
    return { messageId, status: 'sent', channel: content.channel, to: recipient }
  }

  const mailTo = (id: string, to: readonly string[], rest: Partial<OutgoingMail>): OutgoingMail => ({
    messageId: messageIdOf(id),
    to,
    cc: [],
    bcc: [],
    subject: '',
    html: '',
    attachments: [],
    ...rest,
  })

  return {
    async mail({ id, caller, subject, body, text, replyTo, attachments: inputs = [], ...given }) {
      const { to, cc, bcc, keys } = mailRecipients(given)
      needProvider('email')
      checkReceivers(caller, 'email', keys)
      const mail = mailTo(id, to, {
        cc,
        bcc,
        subject,
        html: body,
        ...(text !== undefined && { text }),
        ...(replyTo !== undefined && { replyTo: parseAddress(replyTo, '/body/replyTo').address }),
        attachments: await attachments.read(caller, inputs),
      })
      const content = { channel: 'email', mail } as const
      return send({ id, caller, recipient: to.join(', '), keys, subject, template: null, content })
    },

    async templated({ id, caller, to, template, data, language }) {
      const { address, key } = parseAddress(to, '/body/to')
      checkReceivers(caller, 'email', [key])
      const rendered = await templates.render(template, data, { language })
      const content = { channel: 'email', mail: mailTo(id, [address], rendered) } as const
      const { subject } = rendered
      return send({ id, caller, recipient: address, keys: [key], subject, template, content })
    },

    async text({ id, caller, channel, to, body, media }) {
      const text = { id, to, body, ...(media && { media }) }
      const content: MessageContent & { channel: typeof channel } = { channel, text }
      return send({ id, caller, recipient: to, keys: [to], subject: null, template: null, content })
    },

    async ownMail({ id, to, template, data, language }) {
      needProvider('email')
      const { address, key } = parseAddress(to, '/to')
      const content = {
        channel: 'email',
        mail: mailTo(id, [address], await templates.render(template, data, { language })),
      } as const
      // Its subject may say what only its receiver should know.
      return outbox.insertSql({
        id,
        owner: null,
        recipient: address,
        keys: [key],
        subject: null,
        template,
        content,
      })
    },

    async ownText({ id, to, template, data, language }) {
      needProvider('sms')
      const body = await templates.renderText(template, data, { language })
      const content = { channel: 'sms', text: { id, to, body } } as const
      return outbox.insertSql({
        id,
        owner: null,
        recipient: to,
        keys: [to],
        subject: null,
        template,
        content,
      })
    },
  }
}
