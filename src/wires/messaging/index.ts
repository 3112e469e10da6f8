import { resolve } from 'node:path'

import type { Static } from 'typebox'

import { newId } from '../../base/ids.ts'
import type { Settings } from '../../kernel/config.ts'
import type { Step } from '../../db/database.ts'
import { defineWire } from '../../kernel/wire.ts'
import { openProviders } from './channels.ts'
import { checksOf, createHealth } from './health.ts'
import { createMessageLog, forgetMessages } from './messages.ts'
import { MESSAGING_PROVIDERS, MessagingOptions } from './options.ts'
import { createOutbox } from './outbox.ts'
import { createReportReceivers, reportUrl } from './report-receivers.ts'
import { createReports } from './reports.ts'
import { messagingRoutes } from './routes.ts'
import { createSender } from './sender.ts'
import { createTemplates, type Templates } from './templates.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export type { MessagingOptions, Templates }

/** What other wires send through. */
export type Messaging = {
  /** Whether a provider for email is configured. */
  readonly sendsMail: boolean
  /**
   * The steps that put a templated mail into the outbox, for the batch that decides it. Mails to one address are sent in
   * the order in which they were put there.
   *
   * @param mail.id the same again changes nothing
   * @throws VALIDATION_ERROR where there is no such template, or a value that it needs is missing
   * @throws PROVIDER_NOT_CONFIGURED where no mail can be sent
   */
  mail(mail: {
    id?: string
    to: string
    template: string
    data: Record<string, unknown>
  }): Promise<readonly Step[]>
}

/** The templates of mails, as the configuration names them. */
export const openTemplates = (
  { appDir, name, appUrl }: Pick<Settings, 'appDir' | 'name' | 'appUrl'>,
  options: Pick<Static<typeof MessagingOptions>, 'templates'>,
): Templates => createTemplates({ folder: resolve(appDir, options.templates), app: name, appUrl })

/** Email, SMS and WhatsApp messages, and the log of them. */
export const messaging = defineWire({
  name: 'messaging',
  description: 'Email, SMS and WhatsApp messages, and the log of them.',
  options: MessagingOptions,
  env: { MAIL_BOUNCE_SECRET: 'bounceSecret' },
  providers: MESSAGING_PROVIDERS,
  migrations: new URL('./migrations/', import.meta.url),
  async setup(context, options) {
    const { db, clock, jobs, settings, policy } = context
    const providers = await openProviders(options, settings.appUrl, clock)
    const templates = openTemplates(settings, options)
    const outbox = createOutbox(context, {
      secret: settings.secret,
      providers,
      reportTo: (provider, id) => reportUrl(settings.publicUrl, provider, id),
    })
    const sender = createSender(
      { outbox, templates, providers, policy },
      { domain: new URL(settings.publicUrl).hostname },
    )
    const { keepLogsDays } = options
    if (keepLogsDays !== undefined)
      jobs.every('messaging.clean', HOUR_MS, () => forgetMessages(db, clock.now() - keepLogsDays * DAY_MS))
    const service: Messaging = {
      sendsMail: providers.email.length > 0,
      mail: ({ id = newId(clock.now()), ...mail }) => sender.ownMail({ id, ...mail }),
    }
    return {
      routes: messagingRoutes({
        sender,
        receivers: createReportReceivers(providers, createReports(db, clock), options.bounceSecret),
        list: createMessageLog(db),
        policy,
        health: createHealth(providers, clock),
        limit: options.limit,
        providers,
        publicUrl: settings.publicUrl,
      }),
      service,
      // A provider that is away for a while is no reason to take this server down: GET /messaging/health tells of it.
      health: () => db.ping(),
      checks: checksOf(providers),
      async close() {
        const { email, sms, whatsapp } = providers
        await Promise.all([...email, ...sms, ...whatsapp].map(async (one) => one.close()))
      },
    }
  },
})
