import { errors, type ErrorKind } from '../base/errors.ts'
import { limitOf } from './limits.ts'
import type { Components } from './openapi-components.ts'
import { pascalCase, type Schema } from './openapi-schemas.ts'
import type { ErrorDetails, Route } from './route.ts'

/** The errors that a route may answer, from its specification. */
export function errorsOf({ spec, method, path }: Route): ErrorKind[] {
  const kinds = new Set<ErrorKind>([
    errors.too_many_concurrent,
    errors.internal_error,
    errors.storage_damaged,
    errors.unavailable,
    ...(spec.errors ?? []),
  ])
  if (spec.body || spec.query || spec.params || spec.headers || spec.idempotent)
    kinds.add(errors.validation_error)
  if (method !== 'GET') {
    kinds.add(errors.storage_read_only)
    kinds.add(errors.storage_full)
    kinds.add(errors.validation_error)
    kinds.add(errors.payload_too_large)
    kinds.add(errors.unsupported_media_type)
  }
  if (spec.access !== 'public') {
    kinds.add(errors.unauthorized)
    kinds.add(errors.forbidden)
    kinds.add(errors.email_not_verified)
    kinds.add(errors.second_factor_missing)
    if (spec.proof) kinds.add(errors.recent_sign_in_required)
  }
  if (limitOf(spec)) kinds.add(errors.rate_limited)
  if (spec.stream) kinds.add(errors.too_many_streams)
  if (spec.idempotent) kinds.add(errors.idempotency_conflict)
  if (/:(id|\w+Id)\b/.test(path)) kinds.add(errors.not_found)
  return [...kinds]
}

const ISSUE: Schema = {
  type: 'object',
  required: ['path', 'message'],
  properties: {
    path: { type: 'string', description: 'A JSON pointer: /body/email.' },
    message: { type: 'string' },
  },
}

/** The schema of `error.details`: the faults of an invalid request, and what the route adds to every error. */
function detailsOf(
  isInvalid: boolean,
  routeDetails: ErrorDetails,
  { describeAs }: Pick<Components, 'describeAs'>,
): Schema {
  const names = Object.keys(routeDetails)
  const schema = { type: 'object', additionalProperties: true, description: 'Depends on the code.' }
  if (!isInvalid && names.length === 0) return schema
  const properties = {
    ...(isInvalid && {
      issues: {
        type: 'array',
        items: describeAs('ValidationIssue', ISSUE),
        description: 'Of VALIDATION_ERROR: what is wrong with the request.',
      },
    }),
    ...Object.fromEntries(names.map((name) => [name, { type: ['string', 'null'] }])),
  }
  const name = `${isInvalid ? 'Validation' : ''}${names.map(pascalCase).join('And')}Details`
  return describeAs(name, { ...schema, ...(names.length > 0 && { required: names }), properties })
}

/** `FORBIDDEN` as a part of a name: `Forbidden`. */
const wordOf = ({ code }: ErrorKind): string => pascalCase(code.toLowerCase())

/**
 * The name of the response with one of some errors, and its schema: one flat object for each set of codes, because many
 * client generators lose fields that `allOf` merges.
 *
 * @param kinds the errors of one status
 */
export function failureOf(
  kinds: readonly ErrorKind[],
  routeDetails: ErrorDetails = {},
  { describeAs }: Pick<Components, 'describeAs'>,
): { name: string; schema: Schema } {
  const words = kinds.map(wordOf).join('Or')
  const names = Object.keys(routeDetails)
  const suffix = names.length > 0 ? `With${names.map(pascalCase).join('And')}` : ''
  const isInvalid = kinds.some(({ code }) => code === errors.validation_error.code)
  const error = describeAs(`${words.endsWith('Error') ? words : `${words}Error`}${suffix}`, {
    type: 'object',
    required: ['code', 'message', ...(names.length > 0 ? ['details'] : [])],
    properties: {
      code: { type: 'string', enum: kinds.map(({ code }) => code), description: 'For programs.' },
      message: { type: 'string', description: 'For people: what is wrong, and what to do.' },
      details: detailsOf(isInvalid, routeDetails, { describeAs }),
    },
  })
  const name = `${words}Response${suffix}`
  return {
    name,
    schema: describeAs(name, { type: 'object', required: ['error'], properties: { error } }),
  }
}
