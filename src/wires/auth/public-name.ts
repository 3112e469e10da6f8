import { isLoopback } from '../../base/loopback.ts'

/**
 * Whether a request asked this machine under another of its names than the public one: a cookie that is set there
 * does not come along to an address under the public name.
 *
 * The port has to be the same. A proxy on this machine that changes the host has another one, and a browser that is
 * sent from here to the public name would come round to here for ever.
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
