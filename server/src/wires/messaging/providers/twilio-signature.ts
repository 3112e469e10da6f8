import { createHmac } from 'node:crypto'

import { isSameSecret } from '../../../base/crypto.ts'

/**
 * Whether Twilio signed a request to this address: HMAC-SHA1 of the address and the sorted parameters, by the
 * account's token (https://www.twilio.com/docs/usage/security#validating-requests). It says nothing about when: the
 * same request stays valid.
 *
 * @param url the whole configured address with its query, never one built from the Host header
 * @param params the fields of the form
 * @param signature the header `X-Twilio-Signature`
 */
export function isSigned(
  authToken: string,
  url: string,
  params: Readonly<Record<string, string>>,
  signature: string,
): boolean {
  // A blank token would make everybody's signature valid.
  if (authToken === '') return false
  const fields = Object.keys(params)
    .toSorted()
    .map((name) => name + params[name]!)
    .join('')
  // Twilio signs with the standard port or without it, by the kind of request.
  return [withPort(url), withoutPort(url), url].some((address) => {
    const right = createHmac('sha1', authToken)
      .update(address + fields)
      .digest('base64')
    return isSameSecret(signature, right)
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
