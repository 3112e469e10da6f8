import type { TestContext } from 'node:test'

import type { Clock } from '../../../base/clock.ts'
import { freePort } from '../../../testing/free-port.ts'
import type { MailProvider, OutgoingMail, SendOutcome } from './provider.ts'
import { smtp } from './smtp.ts'

/** Milliseconds: no outcome but those of a limit waits for it. */
export const PATIENCE = 20_000

export function open(t: TestContext, options: Parameters<typeof smtp>[0], clock?: Clock): MailProvider {
  const provider = smtp(options, clock)
  t.after(() => provider.close())
  return provider
}

export const letter = (more: Partial<OutgoingMail> = {}): OutgoingMail => ({
  messageId: 'fixed.1@shop.example',
  to: ['ada@example.com'],
  cc: [],
  bcc: [],
  subject: 'Hello',
  html: '<p>Good morning</p>',
  attachments: [],
  ...more,
})

export const send = (t: TestContext, url: string, more?: Partial<OutgoingMail>): Promise<SendOutcome> =>
  open(t, { url, from: 'shop@example.com' }).send(letter(more), PATIENCE)

/** The address of a server that is not there. */
export const closedAddress = async (): Promise<string> => `smtp://127.0.0.1:${await freePort()}`
