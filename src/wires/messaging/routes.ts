import { Type } from '../../base/schema.ts'
import { healthRoute } from '../../http/health-route.ts'
import { route } from '../../http/route.ts'
import { PROVIDER_STATUS } from '../../providers/health.ts'
import type { MessagingHealth } from './health.ts'
import { logEndpoints } from './log-endpoints.ts'
import { reportEndpoints } from './report-endpoints.ts'
import { sendEndpoints } from './send-endpoints.ts'

const ChannelHealthFields = {
  provider: Type.String(),
  status: Type.Enum(PROVIDER_STATUS),
}
const ChannelHealth = Type.Object(ChannelHealthFields, { title: 'ChannelHealth' })
const HealthFields = {
  providers: Type.Object({ email: ChannelHealth, sms: ChannelHealth, whatsapp: ChannelHealth }),
}
type MessagingParts = Parameters<typeof sendEndpoints>[0] &
  Parameters<typeof logEndpoints>[0] &
  Parameters<typeof reportEndpoints>[0] & { health: () => Promise<MessagingHealth> }

/** All routes of the wire. */
export function messagingRoutes(wire: MessagingParts) {
  const send = sendEndpoints(wire)
  const logs = logEndpoints(wire)
  const reports = reportEndpoints(wire)
  return [
    route('POST /messaging/email', ...send.email),
    route('POST /messaging/email/template', ...send.template),
    route('POST /messaging/sms', ...send.sms),
    route('POST /messaging/whatsapp', ...send.whatsapp),
    route('GET /messaging/logs', ...logs.list),
    healthRoute(
      'GET /messaging/health',
      { title: 'MessagingHealth', summary: 'Check whether messages can be sent', fields: HealthFields },
      wire.health,
    ),
    route('POST /messaging/reports/:provider', ...reports.receive),
    route('POST /messaging/twilio/status', ...reports.receiveTwilio),
    route('POST /messaging/email/bounce', ...reports.receiveBounce),
  ] as const
}
