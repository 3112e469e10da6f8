import type { TSchema } from 'typebox'

import { COLOR } from '../../base/color.ts'
import { Type } from '../../base/schema.ts'
import { frameVariables } from '../config/config.ts'

/** The settings that administrators may set while the server runs, with what a form needs to know of each. */
export const FRAME_SETTABLE: Readonly<Record<string, TSchema>> = {
  name: Type.String({
    minLength: 1,
    maxLength: 100,
    pattern: '^[^\\x00-\\x1f\\x7f]*$',
    description: 'The name of the application, in mails and pages.',
  }),
  color: Type.String({
    pattern: COLOR,
    description: 'The colour of the application, in the console and in buttons of mails: #3b4cf0.',
  }),
  appUrl: Type.String({
    minLength: 1,
    maxLength: 2_000,
    description: frameVariables['APP_URL']!.description,
  }),
  publicUrl: Type.String({
    minLength: 1,
    maxLength: 2_000,
    description: frameVariables['PUBLIC_URL']!.description,
  }),
  origins: Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
    maxItems: 100,
    description: frameVariables['SIXWIRE_ORIGINS']!.description,
  }),
  rateLimits: Type.Boolean({ description: frameVariables['SIXWIRE_RATE_LIMITS']!.description }),
  auditDays: Type.Integer({
    minimum: 1,
    maximum: 36_500,
    description: frameVariables['SIXWIRE_AUDIT_DAYS']!.description,
  }),
}
