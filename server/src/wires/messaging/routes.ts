import { Type } from '../../base/schema.ts'
import { healthRoute } from '../../http/health-route.ts'
import { route } from '../../http/route.ts'
import { PROVIDER_STATUS } from '../../providers/health.ts'
import type { MessagingHealth } from './health.ts'
import { logEndpoints, type LogParts } from './routes/message-log-endpoints.ts'
import { reportEndpoints } from './routes/report-endpoints.ts'
import { sendEndpoints } from './routes/send-endpoints.ts'
import { templateEndpoints } from './routes/template-endpoints.ts'

const ChannelHealthFields = {
  provider: Type.String(),
  status: Type.Enum(PROVIDER_STATUS),
}
const ChannelHealth = Type.Object(ChannelHealthFields, { title: 'ChannelHealth' })
const HealthFields = {
  providers: Type.Object({ email: ChannelHealth, sms: ChannelHealth, whatsapp: ChannelHealth }),
}
type MessagingParts = Parameters<typeof sendEndpoints>[0] &
  LogParts &
  Parameters<typeof templateEndpoints>[0] &
  Parameters<typeof reportEndpoints>[0] & { health: () => Promise<MessagingHealth> }

/** All routes of the wire. */
export function messagingRoutes(wire: MessagingParts) {
  const send = sendEndpoints(wire)
  const logs = logEndpoints(wire)
  const templates = templateEndpoints(wire)
  const reports = reportEndpoints(wire)
  return [
    route('POST /messaging/email', ...send.email),
    route('POST /messaging/email/template', ...send.template),
    route('POST /messaging/sms', ...send.sms),
    route('POST /messaging/whatsapp', ...send.whatsapp),
    route('GET /messaging/logs', ...logs.list),
    route('GET /messaging/logs/aggregate', ...logs.aggregate),
    route('GET /messaging/logs/:id', ...logs.get),
    route('GET /messaging/logs/:id/content', ...logs.getContent),
    route('POST /messaging/logs/:id/resend', ...logs.resend),
    route('GET /messaging/templates', ...templates.list),
    route('GET /messaging/templates/:name', ...templates.get),
    route('POST /messaging/templates/:name/preview', ...templates.preview),
    route('GET /messaging/preview', ...logs.preview),
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
