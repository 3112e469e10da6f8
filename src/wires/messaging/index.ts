import { resolve } from 'node:path'

import type { Static } from 'typebox'

import { asset } from '../../base/asset.ts'
import { newId } from '../../base/ids.ts'
import type { Settings } from '../../kernel/config.ts'
import type { Step } from '../../db/database.ts'
import { findingIf, warning } from '../../kernel/diagnosis.ts'
import { defineWire } from '../../kernel/wire.ts'
import { createAttachments, type AttachableFile, type FileSource } from './attachments.ts'
import { openProviders } from './channels.ts'
import { checksOf, createHealth } from './health.ts'
import { createMessageEvents } from './message-events.ts'
import { createMessageLog, forgetMessages } from './messages.ts'
import { MESSAGING_PROVIDERS, MessagingOptions } from './options.ts'
import { createOutbox, OUTBOX_SEALED } from './outbox.ts'
import { createReportReceivers, reportUrl } from './report-receivers.ts'
import { createReports } from './reports.ts'
import { messagingRoutes } from './routes.ts'
import { createSender } from './sender.ts'
import { createTemplates, type Templates } from './templates.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export type { AttachableFile, FileSource, MessagingOptions, Templates }

/** The service of the messaging wire, with which other wires send email. */
export type Messaging = {
  /** Whether a provider of email is configured. */
  readonly sendsMail: boolean
  /**
   * Makes the steps that queue an email from a template, for the batch that decides it. Emails to one address are sent
   * in the order in which they were queued, one at a time.
   *
   * @param mail.id the id of the message; queueing the same id again changes nothing. Default: a new id
   * @throws VALIDATION_ERROR if the template does not exist, or a value that it shows is missing
   * @throws PROVIDER_NOT_CONFIGURED if no provider of email is configured
   * @example
   * const steps = await messaging.mail({ to: 'ada@example.com', template: 'order', data: { number: '1007' } })
   * await db.batch([insertOrderSql(order), steps])
   */
  mail(mail: {
    id?: string
    to: string
    template: string
    data: Record<string, unknown>
  }): Promise<readonly Step[]>
  /** Sets where the files of `attachments[].fileId` come from; for the wire that stores them. */
  setFileSource(source: FileSource): void
}

/** Opens the email templates of the configured folder. */
export const openTemplates = (
  { appDir, name, appUrl }: Pick<Settings, 'appDir' | 'name' | 'appUrl'>,
  options: Pick<Static<typeof MessagingOptions>, 'templates'>,
): Templates => createTemplates({ folder: resolve(appDir, options.templates), app: name, appUrl })

/** Sends email, SMS and WhatsApp messages, and keeps a log of them. */
export const messaging = defineWire({
  name: 'messaging',
  description: 'Email, SMS and WhatsApp messages, and the log of them.',
  options: MessagingOptions,
  env: { MAIL_BOUNCE_SECRET: 'bounceSecret' },
  providers: MESSAGING_PROVIDERS,
  migrations: asset('wires/messaging/migrations/'),
  async setup(context, options) {
    const { db, clock, jobs, settings, policy } = context
    const providers = await openProviders(options, settings.appUrl, clock)
    const templates = openTemplates(settings, options)
    const events = createMessageEvents(context.events)
    const outbox = createOutbox(context, events, {
      secret: settings.secret,
      providers,
      reportTo: (provider, id) => reportUrl(settings.publicUrl, provider, id),
    })
    const attachments = createAttachments()
    const sender = createSender(
      { attachments, outbox, templates, providers, policy },
      { domain: new URL(settings.publicUrl).hostname },
    )
    const { keepLogsDays } = options
    if (keepLogsDays !== undefined)
      jobs.every('messaging.clean', HOUR_MS, () => forgetMessages(db, clock.now() - keepLogsDays * DAY_MS))
    const service: Messaging = {
      sendsMail: providers.email.length > 0,
      mail: ({ id = newId(clock.now()), ...mail }) => sender.ownMail({ id, ...mail }),
      setFileSource: (source) => attachments.setFileSource(source),
    }
    return {
      routes: messagingRoutes({
        sender,
        receivers: createReportReceivers(providers, createReports(db, clock, events), options.bounceSecret),
        list: createMessageLog(db),
        policy,
        health: createHealth(providers, clock),
        limit: options.limit,
        providers,
        publicUrl: settings.publicUrl,
      }),
      service,
      // A provider that is unavailable is no reason to stop this server: GET /messaging/health reports it.
      health: () => db.ping(),
      sealed: [OUTBOX_SEALED],
      checks: checksOf(providers),
      diagnoses: [
        {
          name: 'email',
          about: 'whether a production server can send mail',
          find: async () =>
            findingIf(settings.production && providers.email.length === 0, () =>
              warning(
                'no mail can be sent: users can neither verify an address nor reset a password',
                'set SMTP_URL and MAIL_FROM',
              ),
            ),
        },
      ],
      warnings: Object.values(providers).flatMap((list) => list.flatMap(({ warnings = [] }) => warnings)),
      async close() {
        const { email, sms, whatsapp } = providers
        await Promise.all([...email, ...sms, ...whatsapp].map(async (one) => one.close()))
      },
    }
  },
})
