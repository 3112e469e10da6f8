import type { Api, CallReply } from '../../../../client/src/index.ts'

/** A template with the values that it needs. */
export type TemplateSummary = CallReply<Api, 'GET /messaging/templates'>['templates'][number]
