import { isLoopback } from '../../../base/loopback.ts'

/**
 * Whether a request asked this machine under another of its names than the public one: a cookie that is set there
 * does not come along to an address under the public name.
 *
 * The port has to be the same: another one is most likely that of a proxy on this machine which passes its own name
 * for this server on. With default ports such a proxy can't be told apart, so whoever sends a browser to the public name
 * by this must do it once only: it would come round to here for ever.
 *
 * @param host the request's `Host`
 * @param publicUrl `PUBLIC_URL`
 */
export function isOtherName(host: string | undefined, publicUrl: string): boolean {
  const known = new URL(publicUrl)
  const address = `${known.protocol}//${host ?? ''}`
  if (!URL.canParse(address)) return false
  const asked = new URL(address)
  return (
    asked.hostname !== known.hostname &&
    asked.port === known.port &&
    isLoopback(asked.hostname) &&
    isLoopback(known.hostname)
  )
}
