import { invalid } from '../../base/errors.ts'

const LENGTH_MAX = 2000 // it travels in a cookie, of which browsers keep 4096 bytes

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
  if (path.length > LENGTH_MAX) throw refused(`It has more than ${LENGTH_MAX} characters.`)
  return path
}
