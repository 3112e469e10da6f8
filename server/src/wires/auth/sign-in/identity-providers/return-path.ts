import { invalid } from '../../../../base/errors.ts'

/** Characters of a return path. It is stored in a cookie, and a browser sends four of them in one header. */
export const RETURN_PATH_MAX = 1000

/**
 * The path on the application's own pages where the frontend goes on after a sign-in, as a browser reads it.
 *
 * @param text a path with query and fragment; anything that could lead to another site is refused
 * @param appUrl `APP_URL`
 * @throws VALIDATION_ERROR
 */
export function returnPath(text: string, appUrl: string): string {
  const refusal = (message: string) => invalid({ path: '/query/redirect', message })
  const elsewhere = refusal('Write a path on the application, like /orders?page=2.')
  // A browser reads a backslash as a slash, and leaves out tabs and line breaks.
  if (!text.startsWith('/') || /[\\\p{Cc}]/u.test(text)) throw elsewhere
  const base = new URL(appUrl)
  if (!URL.canParse(text, base.origin)) throw elsewhere
  const { origin, username, password, pathname, search, hash } = new URL(text, base.origin)
  // `/.//evil.example` is a path here, but a host when it is parsed again.
  if (origin !== base.origin || username || password || pathname.startsWith('//')) throw elsewhere
  const path = pathname + search + hash
  if (path.length > RETURN_PATH_MAX)
    throw refusal(`The path has more than ${RETURN_PATH_MAX} characters as a browser writes it.`)
  return path
}
