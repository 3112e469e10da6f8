import { resolve } from 'node:path'

import type { Static } from 'typebox'

import { asset } from '../../base/asset.ts'
import { newId } from '../../base/ids.ts'
import type { Settings } from '../../kernel/config/config.ts'
import type { Step } from '../../db/database.ts'
import { findingIf, warning } from '../../kernel/wire/diagnosis.ts'
import { defineWire } from '../../kernel/wire/wire.ts'
import { createAttachments, type AttachableFile, type FileSource } from './messages/attachments.ts'
import { openProviders } from './channels.ts'
import { checksOf, createHealth } from './health.ts'
import { messageTimeline } from './messages/message-timeline.ts'
import { messageSeries } from './messages/message-series.ts'
import { createMessageEvents } from './messages/message-events.ts'
import { createMessageLog, forgetFailedContent, forgetMessages } from './messages/messages.ts'
import { createPreviews } from './rendering/preview-page.ts'
import { MESSAGING_PROVIDERS, MESSAGING_SETTABLE, MessagingOptions } from './options.ts'
import { contentKeyOf, createOutbox, OUTBOX_SEALED } from './outbox/outbox.ts'
import { phoneFault, phoneNumber } from './messages/recipients.ts'
import { messagingTables } from './personal-tables.ts'
import { createReportReceivers, reportUrl } from './reports/report-receivers.ts'
import { createReports } from './reports/reports.ts'
import { messagingRoutes } from './routes.ts'
import { createSender } from './outbox/sender.ts'
import { MESSAGING_EXPORT } from './table-exports.ts'
import { createTemplates, type Templates } from './rendering/templates.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Of the buttons in mails of an application without a colour. */
const DEFAULT_COLOR = '#1d4ed8'

export { phoneFault, phoneNumber }
export type { AttachableFile, FileSource, MessagingOptions, Templates }

/** The service of the messaging wire, with which other wires send email and SMS. */
export type Messaging = {
  /** Whether a provider of email is configured. */
  readonly sendsMail: boolean
  /**
   * Makes the steps that queue an email from a template, for the batch that decides it. Emails to one address are sent
   * in the order in which they were queued, one at a time.
   *
   * @param mail.language of whom it is to: `de`. Default: `messaging.language`, as without a text in it
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
    language?: string | undefined
  }): Promise<readonly Step[]>
  /** Whether a provider of SMS is configured. */
  readonly sendsText: boolean
  /**
   * Makes the steps that queue an SMS from a template, for the batch that decides it. It is sent at most once.
   *
   * @param text.id the id of the message; queueing the same id again changes nothing. Default: a new id
   * @param text.to E.164, as `phoneNumber` returns it
   * @param text.template the name of a `.txt` file in the folder of the templates
   * @throws VALIDATION_ERROR if the template does not exist, or a value that it shows is missing
   * @throws PROVIDER_NOT_CONFIGURED if no provider of SMS is configured
   */
  text(text: {
    id?: string
    to: string
    template: string
    data: Record<string, unknown>
    language?: string | undefined
  }): Promise<readonly Step[]>
  /** Sets where the files of `attachments[].fileId` come from; for the wire that stores them. */
  setFileSource(source: FileSource): void
}

/** Opens the templates of the configured folder. */
export const openTemplates = (
  { appDir, name, appUrl, color = DEFAULT_COLOR }: Pick<Settings, 'appDir' | 'name' | 'appUrl' | 'color'>,
  { templates, language, texts }: Pick<Static<typeof MessagingOptions>, 'templates' | 'language' | 'texts'>,
): Templates =>
  createTemplates({
    folder: resolve(appDir, templates),
    app: name,
    appUrl,
    color,
    language,
    stored: texts,
  })

/** Sends email, SMS and WhatsApp messages, and keeps a log of them. */
export const messaging = defineWire({
  name: 'messaging',
  description: 'Email, SMS and WhatsApp messages, and the log of them.',
  options: MessagingOptions,
  env: { MAIL_BOUNCE_SECRET: 'bounceSecret' },
  providers: MESSAGING_PROVIDERS,
  settable: MESSAGING_SETTABLE,
  migrations: asset('wires/messaging/migrations/'),
  async setup(context, options) {
    const { db, clock, jobs, settings, policy, audit } = context
    const providers = await openProviders(context, options)
    const templates = openTemplates(settings, options)
    const events = createMessageEvents(context.events)
    const contentKey = contentKeyOf(settings.secret)
    const outbox = createOutbox(
      context,
      { events, providers },
      {
        contentKey,
        keepsFailed: options.keepFailedDays > 0,
        reportTo: (provider, id) => reportUrl(settings.publicUrl, provider, id),
      },
    )
    const attachments = createAttachments()
    const sender = createSender(
      context,
      { attachments, outbox, templates, providers },
      { domain: new URL(settings.publicUrl).hostname },
    )
    const { keepLogsDays, keepFailedDays } = options
    jobs.every('messaging.forget-content', HOUR_MS, () =>
      forgetFailedContent(db, clock.now() - keepFailedDays * DAY_MS),
    )
    if (keepLogsDays !== undefined)
      jobs.every('messaging.clean', HOUR_MS, () => forgetMessages(db, clock.now() - keepLogsDays * DAY_MS))
    const service: Messaging = {
      sendsMail: providers.email.length > 0,
      mail: ({ id = newId(clock.now()), ...mail }) => sender.ownMail({ id, ...mail }),
      sendsText: providers.sms.length > 0,
      text: ({ id = newId(clock.now()), ...text }) => sender.ownText({ id, ...text }),
      setFileSource: (source) => attachments.setFileSource(source),
    }
    return {
      routes: messagingRoutes({
        db,
        audit,
        contentKey,
        outbox,
        templates,
        previews: createPreviews(context, { secret: settings.secret }),
        sender,
        receivers: createReportReceivers({
          providers,
          reports: createReports(context, { events }),
          bounceSecret: options.bounceSecret,
        }),
        list: createMessageLog(db),
        policy,
        health: createHealth(context, { providers }),
        limit: options.limit,
        providers,
        publicUrl: settings.publicUrl,
      }),
      service,
      // A provider that is unavailable is no reason to stop this server: GET /messaging/health reports it.
      health: () => db.ping(),
      sealed: [OUTBOX_SEALED],
      exports: MESSAGING_EXPORT,
      series: messageSeries({ db }),
      timeline: messageTimeline({ db }),
      personalTables: messagingTables(db),
      checks: checksOf(providers),
      optionFault: async (path) => {
        const [option, name, language] = path.split('.') as [string, string, string]
        const text = option === 'texts' ? options.texts[name]?.[language] : undefined
        return text && templates.faultOf(name, language, text)
      },
      diagnoses: [
        {
          name: 'email',
          about: 'whether a production server can send mail',
          opens: { title: 'Show the settings of mail', at: 'settings?q=messaging' },
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
