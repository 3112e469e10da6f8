import { invalid } from '../../../base/errors.ts'

/** Characters of a path to go on to: it travels in a cookie, and four such cookies in one header. */
export const RETURN_PATH_MAX = 1000

/**
 * Where on the application's own pages to go on after a sign-in, as a browser would read it.
 *
 * @param text a path with query and fragment; anything that could lead elsewhere is refused
 * @param appUrl `APP_URL`
 * @throws VALIDATION_ERROR
 */
export function returnPath(text: string, appUrl: string): string {
  const refused = (message: string) => invalid({ path: '/query/redirect', message })
  const elsewhere = refused('Write a path on the application, like /orders?page=2.')
  // A browser reads a backslash as a slash, and leaves out tabs and line breaks.
  if (!text.startsWith('/') || /[\\\p{Cc}]/u.test(text)) throw elsewhere
  const base = new URL(appUrl)
  if (!URL.canParse(text, base.origin)) throw elsewhere
  const { origin, username, password, pathname, search, hash } = new URL(text, base.origin)
  // `/.//evil.example` is a path here and a host to whoever reads it the next time.
  if (origin !== base.origin || username || password || pathname.startsWith('//')) throw elsewhere
  const path = pathname + search + hash
  if (path.length > RETURN_PATH_MAX)
    throw refused(`As a browser writes it, it has more than ${RETURN_PATH_MAX} characters.`)
  return path
}
