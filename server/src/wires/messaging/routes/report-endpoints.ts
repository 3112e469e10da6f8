import { errors } from '../../../base/errors.ts'
import { idPattern } from '../../../base/ids.ts'
import { Type } from '../../../base/schema.ts'
import { form, json, raw } from '../../../http/bodies.ts'
import { FORM_TYPE, JSON_MEDIA_TYPE } from '../../../http/body-parsers.ts'
import { endpoint } from '../../../http/route.ts'
import { receiveErrors } from '../../../providers/receive.ts'
import { REPORT_ALIASES, REPORTS_PATH, reportUrl, type ReportReceivers } from '../reports/report-receivers.ts'
import { Line } from './schemas.ts'

const Received = Type.Object({ received: Type.Literal(true) }, { title: 'Received' })
const RECEIVED = { received: true } as const

/** For each client address; a provider sends the reports on all messages from a few addresses. */
const REPORTS_LIMIT = '6000/min'

/** The endpoints that receive delivery reports of the providers. */
export function reportEndpoints({ receivers, publicUrl }: { receivers: ReportReceivers; publicUrl: string }) {
  return {
    receive: endpoint(
      {
        summary: 'Receive a delivery report from a provider',
        description:
          'Called by the provider, in its own format and with its own signature. If no provider of this name that sends reports is configured, the answer is 400.',
        access: 'public',
        authorize: (headers) => receivers.authorize(headers),
        limit: REPORTS_LIMIT,
        params: Type.Object({
          provider: Type.String({
            minLength: 1,
            maxLength: 100,
            description: 'The name of the provider, as in the log.',
            examples: ['twilio'],
          }),
        }),
        body: raw({ maxBytes: 65_536 }),
        reply: { 200: Received },
        errors: [receiveErrors.invalid_signature, errors.provider_not_configured, errors.unavailable],
      },
      async ({ params: { provider }, body }) => {
        const query = new URL(body.url, publicUrl).search
        const path = `${REPORTS_PATH}/${encodeURIComponent(provider)}`
        await receivers.receive(provider, { ...body, publicUrl: publicUrl + path + query })
        return RECEIVED
      },
    ),
    receiveTwilio: endpoint(
      {
        summary: 'Receive a delivery report from Twilio',
        description:
          'Called by Twilio: https://www.twilio.com/docs/messaging/guides/track-outbound-message-status',
        access: 'public',
        authorize: (headers) => receivers.authorize(headers, 'twilio'),
        limit: REPORTS_LIMIT,
        query: Type.Object({ id: Type.Optional(Type.String({ pattern: idPattern })) }),
        headers: Type.Object({ 'x-twilio-signature': Type.Optional(Type.String({ maxLength: 200 })) }),
        body: form(
          Type.Object(
            {
              MessageSid: Type.Optional(
                Type.String({ maxLength: 100, examples: ['SM00000000000000000000000000000001'] }),
              ),
              MessageStatus: Type.Optional(Type.String({ maxLength: 100, examples: ['delivered'] })),
              ErrorCode: Type.Optional(Type.String({ maxLength: 100 })),
            },
            { title: 'TwilioReport' },
          ),
          { maxBytes: 65_536 },
        ),
        reply: { 200: Received },
        errors: [receiveErrors.invalid_signature, errors.provider_not_configured, errors.unavailable],
      },
      async ({ query: { id }, headers, body }) => {
        await receivers.receive('twilio', {
          headers,
          bytes: Buffer.from(new URLSearchParams(body).toString()),
          contentType: FORM_TYPE,
          url: REPORT_ALIASES.twilio,
          publicUrl: reportUrl(publicUrl, 'twilio', id),
        })
        return RECEIVED
      },
    ),
    receiveBounce: endpoint(
      {
        summary: 'Report a bounced or delivered email',
        description: 'Send the value of MAIL_BOUNCE_SECRET as "Authorization: Bearer".',
        access: 'public',
        authorize: (headers) => receivers.authorize(headers, 'smtp'),
        limit: REPORTS_LIMIT,
        headers: Type.Object({ authorization: Type.String({ maxLength: 1000 }) }),
        body: json(
          Type.Object(
            {
              messageId: Type.String({
                minLength: 1,
                maxLength: 998,
                description: 'The Message-ID of the email.',
                examples: ['<a1b2c3@example.com>'],
              }),
              status: Type.Optional(Type.Enum(['bounced', 'delivered'])),
              reason: Type.Optional(Line({ maxLength: 1000, examples: ['550 no such mailbox'] })),
            },
            { title: 'EmailReport' },
          ),
          { maxBytes: 16_384 },
        ),
        reply: { 200: Received },
        errors: [receiveErrors.invalid_signature, errors.provider_not_configured, errors.unavailable],
      },
      async ({ headers, body }) => {
        await receivers.receive('smtp', {
          headers,
          bytes: Buffer.from(JSON.stringify(body)),
          contentType: JSON_MEDIA_TYPE,
          url: REPORT_ALIASES.smtp,
          publicUrl: publicUrl + REPORT_ALIASES.smtp,
        })
        return RECEIVED
      },
    ),
  }
}
