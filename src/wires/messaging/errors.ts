import { defineErrors, errors, type ApiError } from '../../base/errors.ts'
import type { Channel } from './provider.ts'

export const messagingErrors = defineErrors({
  invalid_signature: [400, 'The signature of this report is not valid.'],
  send_failed: [500, 'The message could not be sent.'],
})

/** What has to be set for a channel to work. */
const VARIABLES: Readonly<Record<Channel, string>> = {
  email: 'SMTP_URL',
  sms: 'TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN and TWILIO_FROM',
  whatsapp: 'TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN and TWILIO_WHATSAPP_FROM',
}

/** There is nobody who sends messages of this channel. */
export const notConfigured = (channel: Channel): ApiError =>
  errors.provider_not_configured({
    message: `No provider for ${channel} is configured: the operator sets ${VARIABLES[channel]}.`,
    details: { channel, provider: null },
  })
