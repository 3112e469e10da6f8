import { errors, type ApiError } from '../base/errors.ts'

const SCHEME = /^Bearer +/i

/**
 * The text after `Bearer` in an Authorization header (RFC 6750, section 2.1), in any form.
 *
 * @returns undefined if the header has another scheme
 */
export function bearerToken(header: string): string | undefined {
  // As nearly all clients write it.
  if (header.startsWith('Bearer ') && header[7] !== ' ') return header.slice(7)
  const scheme = SCHEME.exec(header)
  return scheme ? header.slice(scheme[0].length) : undefined
}

// For the error message only: valid tokens are not matched against it.
const BEARER = /^Bearer +[\w.~+/=-]{1,4096}$/i

/** The error for an Authorization header that belongs to no caller. */
export const invalidToken = (header: string): ApiError =>
  errors.unauthorized({
    message: BEARER.test(header)
      ? 'This token is invalid, expired or revoked: sign in again or refresh it.'
      : 'The Authorization header must be "Bearer <token>".',
  })
