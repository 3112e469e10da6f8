import type { IncomingHttpHeaders } from 'node:http'

import { isSameSecret } from '../../../base/crypto.ts'
import { errors, invalid, type ApiError } from '../../../base/errors.ts'
import { decodeUtf8, parseStrictJson } from '../../../base/json.ts'
import {
  authorizeByOneOf,
  receiveByOneOf,
  receiveErrors,
  type Receiver,
  type WebhookRequest,
} from '../../../providers/receive.ts'
import { notConfigured } from '../errors.ts'
import type { MailReport, Providers } from '../providers/provider.ts'
import type { Reports } from './reports.ts'

/** Where the reports of a provider are sent, below the server's public URL. */
export const REPORTS_PATH = '/messaging/reports'

/** The addresses of reports that were there before `/messaging/reports/:provider`, by the provider's name. */
export const REPORT_ALIASES = { twilio: '/messaging/twilio/status', smtp: '/messaging/email/bounce' } as const

/** The URL that a text provider is told for the reports of a message, by our id of it. */
export function reportUrl(publicUrl: string, provider: string, id: string | undefined): string {
  const path =
    provider === 'twilio' ? REPORT_ALIASES.twilio : `${REPORTS_PATH}/${encodeURIComponent(provider)}`
  return publicUrl + path + (id === undefined ? '' : `?id=${encodeURIComponent(id)}`)
}

export type ReportReceivers = {
  /**
   * Refuses a report by its headers, before its body is read.
   *
   * @param provider its name; without it, one that any provider would let in is let in
   * @throws INVALID_SIGNATURE; PROVIDER_NOT_CONFIGURED if no such provider sends reports
   */
  authorize(headers: IncomingHttpHeaders, provider?: string): void
  /** Verifies a report and moves on the messages that it tells of. Throws as `authorize` does, and UNAVAILABLE. */
  receive(provider: string, request: WebhookRequest): Promise<void>
}

// An operator's own provider may read a request as anything.
const isText = (value: unknown): boolean => typeof value === 'string'
const isTextOrNone = (value: unknown): boolean => value === undefined || isText(value)
const TEXT_STATUSES: ReadonlySet<unknown> = new Set(['sent', 'delivered', 'failed'])

function isTextReport(event: unknown): boolean {
  const { id, messageId, status, error } = (event ?? {}) as Record<string, unknown>
  return isText(id) && isText(messageId) && TEXT_STATUSES.has(status) && isTextOrNone(error)
}

function isMailReport(event: unknown): boolean {
  const { messageId, status, reason } = (event ?? {}) as Record<string, unknown>
  return isText(messageId) && STATUSES.has(status) && isTextOrNone(reason)
}

/** What reads reports, by the provider that sends them. */
export function createReportReceivers({
  providers,
  reports,
  bounceSecret,
}: {
  providers: Providers
  reports: Reports
  bounceSecret: string | undefined
}): ReportReceivers {
  const receivers = new Map<string, Receiver<() => Promise<void>>[]>()
  const add = <R>(
    name: string,
    one: Partial<Receiver<R>>,
    isReport: (event: unknown) => boolean,
    apply: (report: R) => Promise<void>,
  ): void => {
    if (!one.receive) return
    const receiver: Receiver<() => Promise<void>> = {
      authorize: (headers) => one.authorize?.(headers),
      async receive(request) {
        const events = await one.receive!(request)
        if (!events.every(isReport)) throw new TypeError(`${name} read a request as what is no report`)
        return events.map((report) => () => apply(report))
      },
    }
    receivers.set(name, [...(receivers.get(name) ?? []), receiver])
  }
  for (const one of [...providers.sms, ...providers.whatsapp])
    add(one.name, one, isTextReport, (report) => reports.text(report, one.name))
  const mail = (report: MailReport): Promise<void> => reports.mail(report)
  for (const one of providers.email) add(one.name, one, isMailReport, mail)
  // SMTP itself reports nothing: what watches over the mail does, and has this secret.
  if (bounceSecret !== undefined) add('smtp', bounceReceiver(bounceSecret), isMailReport, mail)

  function receiversOf(provider: string | undefined): Receiver<() => Promise<void>>[] {
    const candidates =
      provider === undefined ? [...receivers.values()].flat() : (receivers.get(provider) ?? [])
    if (candidates.length === 0) throw withoutReports(provider)
    return candidates
  }

  return {
    authorize: (headers, provider) => authorizeByOneOf(receiversOf(provider), headers),
    async receive(provider, request) {
      for (const apply of await receiveByOneOf(receiversOf(provider), request)) await apply()
    },
  }
}

/** PROVIDER_NOT_CONFIGURED, with what the operator sets. */
function withoutReports(provider: string | undefined): ApiError {
  if (provider === 'twilio') return notConfigured('sms')
  if (provider === 'smtp')
    return errors.provider_not_configured({
      message: 'Reports of mail are not configured: the operator sets MAIL_BOUNCE_SECRET.',
      details: { channel: 'email', provider: null },
    })
  return errors.provider_not_configured({
    message: 'No provider of this name that sends reports is configured.',
    details: { provider: null },
  })
}

const STATUSES: ReadonlySet<unknown> = new Set(['bounced', 'delivered'])
const MESSAGE_ID_MAX = 998
const REASON_MAX = 1000

/** Reads what a mail server, or a script that watches a mailbox, reports as JSON under a shared secret. */
export function bounceReceiver(secret: string): Receiver<MailReport> {
  function authorize({ authorization = '' }: IncomingHttpHeaders): void {
    if (!isSameSecret(authorization, `Bearer ${secret}`))
      throw receiveErrors.invalid_signature({ message: 'The secret of this report is not right.' })
  }
  return {
    authorize,
    async receive({ headers, bytes }) {
      authorize(headers)
      const body: unknown = parseStrictJson(decodeUtf8(bytes))
      const { messageId, status = 'bounced', reason } = (body ?? {}) as Record<string, unknown>
      if (typeof messageId !== 'string' || messageId === '' || messageId.length > MESSAGE_ID_MAX)
        throw invalid({ path: '/body/messageId', message: 'must be the Message-ID of the email' })
      if (!STATUSES.has(status))
        throw invalid({ path: '/body/status', message: 'must be bounced or delivered' })
      if (reason !== undefined && (typeof reason !== 'string' || reason.length > REASON_MAX))
        throw invalid({ path: '/body/reason', message: `must be text of at most ${REASON_MAX} characters` })
      return [
        {
          messageId,
          status: status as MailReport['status'],
          ...(reason !== undefined && { reason }),
        },
      ]
    },
  }
}
