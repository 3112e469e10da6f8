import type { Static } from 'typebox'

import type { Clock } from '../../base/clock.ts'
import { StartError } from '../../base/start-error.ts'
import type { MessagingOptions } from './options.ts'
import type { MailProvider, Providers, TextProvider } from './providers/provider.ts'
import { isAddressAlone } from '../../kernel/wire/provider-options.ts'
import type { WireContext } from '../../kernel/wire/wire.ts'

type Options = Static<typeof MessagingOptions>

/**
 * Makes the providers of each channel from the options: a list in the configuration file, or else the one
 * provider that the environment names.
 *
 * @throws StartError if a provider's options are incomplete or wrong
 */
export async function openProviders(
  { clock, settings }: Pick<WireContext, 'clock' | 'settings'>,
  options: Options,
): Promise<Providers> {
  const email = options.email ?? (await mailProviders(options.smtp, settings.appUrl, clock))
  const namedProviders = await textProviders(options.twilio, clock)
  const { sms = namedProviders.sms, whatsapp = namedProviders.whatsapp } = options
  for (const [channel, list] of Object.entries({ email, sms, whatsapp }))
    if (list.some((one) => one.channel !== channel || typeof one.send !== 'function'))
      throw new StartError(`messaging.${channel}: one of its providers does not send ${channel}`)
  return { email, sms, whatsapp }
}

async function mailProviders(
  options: Options['smtp'],
  appUrl: string,
  clock: Clock,
): Promise<MailProvider[]> {
  if (!options) return []
  const { url, from } = options
  if (url === undefined)
    throw new StartError('SMTP_URL: it is not set, but MAIL_FROM is: set it, or remove MAIL_FROM')
  // Loaded only if it is configured, as the other one below.
  const { smtp } = await import('./providers/smtp.ts')
  return [smtp({ url, appUrl, ...(from !== undefined && { from }) }, clock)]
}

async function textProviders(
  options: Options['twilio'],
  clock: Clock,
): Promise<Record<'sms' | 'whatsapp', TextProvider[]>> {
  if (!options || isAddressAlone(options)) return { sms: [], whatsapp: [] }
  const { accountSid, authToken, from, whatsappFrom, apiBase } = options
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
