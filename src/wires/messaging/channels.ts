import type { Static } from 'typebox'

import type { Clock } from '../../base/clock.ts'
import { StartError } from '../../base/start-error.ts'
import type { Settings } from '../../kernel/config.ts'
import type { MessagingOptions } from './options.ts'
import type { MailProvider, Providers, TextProvider } from './provider.ts'

/** Where Twilio reports what becomes of a message, below the server's public address. */
export const TWILIO_REPORTS = '/messaging/twilio/status'

type Options = Static<typeof MessagingOptions>

/**
 * Makes the providers of each channel, from the options: a list in the configuration file, or else the one provider
 * that the environment names.
 *
 * @throws StartError where what is said of a provider is not enough, or not right
 */
export async function openProviders(
  options: Options,
  { publicUrl, appUrl }: Pick<Settings, 'publicUrl' | 'appUrl'>,
  clock: Clock,
): Promise<Providers> {
  const email = options.email ?? (await mailProviders(options.smtp, appUrl, clock))
  const named = await textProviders(options.twilio, clock)
  const { sms = named.sms, whatsapp = named.whatsapp } = options
  for (const [channel, list] of Object.entries({ email, sms, whatsapp }))
    if (list.some((one) => one.channel !== channel || typeof one.send !== 'function'))
      throw new StartError(`messaging.${channel}: one of its providers does not send ${channel}`)
  const reports = publicUrl + TWILIO_REPORTS
  return { email, sms, whatsapp, reportTo: (id) => (id === undefined ? reports : `${reports}?id=${id}`) }
}

async function mailProviders(given: Options['smtp'], appUrl: string, clock: Clock): Promise<MailProvider[]> {
  if (!given) return []
  const { url, from } = given
  if (url === undefined)
    throw new StartError('SMTP_URL: it is not set, but MAIL_FROM is: set it, or remove MAIL_FROM')
  // Loaded where it is used, as the other one below.
  const { smtp } = await import('./providers/smtp.ts')
  return [smtp({ url, appUrl, ...(from !== undefined && { from }) }, clock)]
}

async function textProviders(
  given: Options['twilio'],
  clock: Clock,
): Promise<Record<'sms' | 'whatsapp', TextProvider[]>> {
  if (!given) return { sms: [], whatsapp: [] }
  const { accountSid, authToken, from, whatsappFrom, apiBase } = given
  if (accountSid === undefined || authToken === undefined)
    throw new StartError(
      `TWILIO_${accountSid === undefined ? 'ACCOUNT_SID' : 'AUTH_TOKEN'}: it is not set, but other names of Twilio are`,
    )
  const { twilio } = await import('./providers/twilio.ts')
  const make = (channel: 'sms' | 'whatsapp', sender: string | undefined): TextProvider[] =>
    sender === undefined
      ? []
      : [
          twilio(
            { channel, accountSid, authToken, from: sender, ...(apiBase !== undefined && { apiBase }) },
            clock,
          ),
        ]
  return { sms: make('sms', from), whatsapp: make('whatsapp', whatsappFrom) }
}
