const SCHEME = /^Bearer +/i

/**
 * The text after `Bearer` in an Authorization header (RFC 6750, section 2.1), in any form.
 *
 * @returns undefined if the header has another scheme
 */
export function bearerToken(header: string): string | undefined {
  const scheme = SCHEME.exec(header)
  return scheme ? header.slice(scheme[0].length) : undefined
}
