const SCHEME = /^Bearer +/i

/**
 * What an Authorization header says after `Bearer` (RFC 6750, section 2.1), whatever form it has.
 *
 * @returns undefined where the header says nothing of the kind
 */
export function bearerToken(header: string): string | undefined {
  const scheme = SCHEME.exec(header)
  return scheme ? header.slice(scheme[0].length) : undefined
}
