import { defineErrors, type ApiError } from '../../base/errors.ts'
import { notConfigured as providerNotConfigured } from '../../providers/health.ts'
import type { Channel } from './providers/provider.ts'

/** The errors of the messaging wire. */
export const messagingErrors = defineErrors({
  send_failed: [500, 'The message could not be sent.'],
})

/** The variables that configure a channel. */
const VARIABLES: Readonly<Record<Channel, string>> = {
  email: 'SMTP_URL',
  sms: 'TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN and TWILIO_FROM',
  whatsapp: 'TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN and TWILIO_WHATSAPP_FROM',
}

/** PROVIDER_NOT_CONFIGURED, with the variables that configure the channel. */
export const notConfigured = (channel: Channel): ApiError =>
  providerNotConfigured({ what: channel, variables: VARIABLES[channel], details: { channel } })
