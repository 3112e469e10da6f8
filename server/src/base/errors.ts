/** One entry of an error table: the HTTP status and the sentence a caller reads. */
export type ErrorEntry = readonly [status: number, message: string]

/** What can be added to an error of the table when it is thrown. */
export type ErrorDetail = {
  /** Replaces the table's sentence: what is wrong, where, and what to do. */
  message?: string
  /** Answered as `error.details`. */
  details?: Record<string, unknown>
  /** Whole seconds after which a retry makes sense; answered as `Retry-After`. */
  retryAfter?: number
  /** Further response headers, for example `allow`. */
  headers?: Record<string, string>
  /** The underlying error; it is logged and never answered. */
  cause?: unknown
}

/** An error that the API documents. Anything else that is thrown is a bug and answered as 500. */
export class ApiError extends Error {
  readonly code: string
  readonly status: number
  readonly details: Record<string, unknown> | undefined
  readonly retryAfter: number | undefined
  readonly headers: Record<string, string> | undefined

  constructor(code: string, status: number, message: string, detail: ErrorDetail = {}) {
    super(detail.message ?? message, detail.cause === undefined ? undefined : { cause: detail.cause })
    this.name = 'ApiError'
    this.code = code
    this.status = status
    this.details = detail.details
    this.retryAfter = detail.retryAfter
    this.headers = detail.headers
  }
}

/** Makes one kind of error; carries its code, status and sentence for the API description. */
export type ErrorKind<Code extends string = string> = {
  (detail?: ErrorDetail): ApiError
  readonly code: Code
  readonly status: number
  readonly message: string
}

/**
 * Makes error functions from a table. The code that a caller sees is the key in upper case.
 *
 * @example
 * const errors = defineErrors({ email_taken: [409, 'An account with this email address exists.'] })
 * throw errors.email_taken()
 */
export function defineErrors<const T extends Record<string, ErrorEntry>>(
  table: T,
): { readonly [K in keyof T]: ErrorKind<Uppercase<K & string>> } {
  const kinds: Record<string, ErrorKind> = {}
  for (const [key, [status, message]] of Object.entries(table)) {
    const code = key.toUpperCase()
    kinds[key] = Object.assign((detail?: ErrorDetail) => new ApiError(code, status, message, detail), {
      code,
      status,
      message,
    })
  }
  return kinds as { readonly [K in keyof T]: ErrorKind<Uppercase<K & string>> }
}

/**
 * The errors that any wire may answer.
 *
 * @example
 * throw errors.not_found({ message: `No account has the address ${email}.` })
 */
export const errors = defineErrors({
  validation_error: [400, 'The request is not valid.'],
  provider_not_configured: [400, 'The provider for this is not configured.'],
  unauthorized: [401, 'Sign in first: send a valid token as "Authorization: Bearer <token>".'],
  forbidden: [403, 'This caller is not allowed to do this.'],
  email_not_verified: [
    403,
    'Verify your email address first: open the link in the verification email. POST /auth/resend-verification sends a new one.',
  ],
  recent_sign_in_required: [
    403,
    'This requires a proof within the last 10 minutes that it is you: call POST /auth/confirm, or sign in again, and repeat it.',
  ],
  second_factor_missing: [
    403,
    'This account needs a second factor: add a passkey or an authenticator app with /auth/passkeys or /auth/totp, then repeat it.',
  ],
  not_found: [404, 'Resource not found.'],
  method_not_allowed: [405, 'This route does not support the method.'],
  conflict: [409, 'The request conflicts with an existing record.'],
  idempotency_conflict: [409, 'This Idempotency-Key was used for a different request: use a new key.'],
  precondition_failed: [412, 'The record has changed since you read it: read it again.'],
  payload_too_large: [413, 'The request is too large.'],
  uri_too_long: [414, 'The address is too long.'],
  unsupported_media_type: [415, 'Send the body as application/json.'],
  expectation_failed: [417, 'Of the header Expect only 100-continue is supported.'],
  rate_limited: [429, 'Too many requests: wait as long as Retry-After says.'],
  too_many_concurrent: [
    429,
    'Too many of your requests at once: wait for their answers, then as long as Retry-After says.',
  ],
  too_many_streams: [
    429,
    'Too many event streams of yours are open: close one, or watch several collections with one stream.',
  ],
  headers_too_large: [431, 'The headers are too large.'],
  internal_error: [500, 'Internal error. The log has the details under this request id.'],
  storage_damaged: [
    500,
    'The database is damaged at this place, and this cannot be read: docs/backups.md says how to put a copy back.',
  ],
  not_implemented: [501, 'This server does not implement this.'],
  storage_read_only: [503, 'The storage is read-only: nothing was stored. Reads go on.'],
  unavailable: [503, 'The service cannot do this right now: try again shortly.'],
  storage_full: [507, 'The storage is full: nothing was stored. Reads go on.'],
})

/** Whether it tells of a state of the server or its storage that may pass, whatever was asked. */
export const isPassing = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.status === 503 || error.status === 507)

/** One validation error of a request; `path` is a JSON pointer into its body, query, params or headers. */
export type Issue = { path: string; message: string }

/** The most validation errors that one answer lists. */
export const ISSUES_SHOWN = 20

/**
 * Makes a 400 `VALIDATION_ERROR` with one or more issues.
 *
 * @param issues `path` is a JSON pointer that begins with the part of the request: `/body/email`
 * @example
 * throw invalid({ path: '/body/currency', message: 'must be a currency of this shop' })
 */
export function invalid(...issues: Issue[]): ApiError {
  const [first] = issues
  return errors.validation_error({
    message: first ? `${first.path}: ${first.message}` : errors.validation_error.message,
    details: { issues },
  })
}
