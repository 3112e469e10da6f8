import { defineErrors, type ApiError } from '../../base/errors.ts'
import { notConfigured as providerNotConfigured } from '../../providers/health.ts'
import type { Channel } from './provider.ts'

export const messagingErrors = defineErrors({
  send_failed: [500, 'The message could not be sent.'],
})

/** What has to be set for a channel to work. */
const VARIABLES: Readonly<Record<Channel, string>> = {
  email: 'SMTP_URL',
  sms: 'TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN and TWILIO_FROM',
  whatsapp: 'TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN and TWILIO_WHATSAPP_FROM',
}

/** No provider sends messages of this channel. */
export const notConfigured = (channel: Channel): ApiError =>
  providerNotConfigured({ what: channel, variables: VARIABLES[channel], details: { channel } })
