import { idPattern } from '../../../base/ids.ts'
import { oneLine } from '../../../base/one-line.ts'
import { MASK, soundsLikeSecret } from '../../../kernel/config/masked.ts'

const PATH_CHARACTERS = 300
const OPAQUE_CHARACTERS = 24
const ID = new RegExp(idPattern)

// Keys of providers, service keys, tokens, and whatever follows the name of a scheme of HTTP.
const TOKEN =
  /\b(?:(?:sk|rk|pk|whsec|ghp|xox[a-z])[_-][\w-]{6,}|AKIA[A-Z\d]{12,}|eyJ[\w-]{8,}(?:\.[\w-]*){0,2})|\b(?:Bearer|Basic)\s+\S+/g
// Parts have a limit: else the time grows with the square of a text, such as the address of a request.
const USER_OF_ADDRESS = /([a-z][a-z\d+.-]{0,39}:\/\/)[^\s/@?#]+@/gi
const QUERY_OF_ADDRESS = /([a-z][a-z\d+.-]{0,39}:\/\/[^\s?#"']{1,500})[?#][^\s"')]+/gi
const NAME_AND_VALUE = /([\w-]{2,40})("?\s*[=:]\s*"?)([^\s"',;&]+)/g

/** Text for the log without what could open something: tokens, passwords in addresses, values of names like `secret=`. */
export function scrub(text: string): string {
  return text
    .replace(USER_OF_ADDRESS, `$1${MASK}@`)
    .replace(QUERY_OF_ADDRESS, `$1?${MASK}`)
    .replace(TOKEN, MASK)
    .replace(NAME_AND_VALUE, (whole, name: string, between: string) =>
      soundsLikeSecret(name) ? `${name}${between}${MASK}` : whole,
    )
}

/**
 * The path of a request for the log: parameters of the route that sound like secrets by name, and in an address that no route
 * has whatever looks like a token, are masked.
 */
export function scrubPath(path: string, route: string | undefined): string {
  if (route === undefined) return oneLine(scrub(path.split('/').map(maskOpaque).join('/')), PATH_CHARACTERS)
  if (!route.includes(':')) return oneLine(path, PATH_CHARACTERS)
  const names = route.split('/')
  const segments = path.split('/')
  const isSecretAt = (at: number): boolean =>
    names[at]?.startsWith(':') === true && soundsLikeSecret(names[at].slice(1))
  return oneLine(scrub(segments.map((one, at) => (isSecretAt(at) ? MASK : one)).join('/')), PATH_CHARACTERS)
}

const maskOpaque = (segment: string): string =>
  segment.length >= OPAQUE_CHARACTERS && !ID.test(segment) && /\d/.test(segment) ? MASK : segment
