import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * Whether Twilio signed a request to this address: HMAC-SHA1 of the address and the sorted parameters, by the
 * account's token (https://www.twilio.com/docs/usage/security#validating-requests). It says nothing about when: the
 * same request stays valid.
 *
 * @param url the whole configured address with its query, never one built from the Host header
 * @param params the fields of the form; a field that is there several times as an array
 * @param signature the header `X-Twilio-Signature`
 */
export function isSigned(
  authToken: string,
  url: string,
  params: Readonly<Record<string, string | readonly string[]>>,
  signature: string,
): boolean {
  // A blank token would make everybody's signature valid.
  if (authToken === '') return false
  const given = Buffer.from(signature)
  const fields = Object.keys(params)
    .toSorted()
    .map((name) => {
      const value = params[name]!
      return typeof value === 'string'
        ? name + value
        : [...new Set(value)]
            .toSorted()
            .map((one) => name + one)
            .join('')
    })
    .join('')
  // Twilio signs with the standard port or without it, by the kind of request.
  return [withPort(url), withoutPort(url), url].some((address) => {
    const right = Buffer.from(
      createHmac('sha1', authToken)
        .update(address + fields)
        .digest('base64'),
    )
    return given.length === right.length && timingSafeEqual(given, right)
  })
}

const ORIGIN = /^(https?):\/\/([^/?#:]+|\[[^\]]*\])(:\d+)?(?=[/?#]|$)/i
const withPort = (url: string): string =>
  url.replace(
    ORIGIN,
    (_all, scheme: string, host: string, port?: string) =>
      `${scheme}://${host}${port ?? (scheme.toLowerCase() === 'https' ? ':443' : ':80')}`,
  )
const withoutPort = (url: string): string => url.replace(ORIGIN, '$1://$2')
