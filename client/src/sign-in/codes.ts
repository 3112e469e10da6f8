import type { Auth } from '../auth-types.ts'
import { toBase64url } from './base64url.ts'
import { itemOf, type Item } from './item.ts'
import type { AuthOwner, Begin } from './owner.ts'

const BYTES = 24

/**
 * The text by which the server knows this browser: a link or a code that it asks for is refused elsewhere. React Native has no
 * `crypto`, and without a storage a link that opens another tab would be refused: then nothing is sent.
 */
async function browserOf(item: Item | undefined): Promise<{ browser?: string }> {
  if (!item || !('crypto' in globalThis)) return {}
  let browser = await item.read()
  if (!browser) {
    browser = toBase64url(crypto.getRandomValues(new Uint8Array(BYTES)))
    await item.write(browser)
  }
  return { browser }
}

/** Links and codes that are sent to sign in. */
export function codesOf(
  owner: AuthOwner,
  begin: Begin,
): Pick<Auth, 'sendMagicLink' | 'verifyMagicLink' | 'sendCode' | 'verifyCode'> {
  const item = itemOf(owner, 'browser')
  const send = async (address: object) => {
    const key = 'phone' in address ? 'POST /auth/sms-code' : 'POST /auth/magic-link'
    await owner.call(key, { token: null, body: { ...address, ...(await browserOf(item)) } })
  }
  const verify = async (key: string, body: object) => begin(key, { ...body, ...(await browserOf(item)) })
  return {
    sendMagicLink: (email) => send({ email }),
    verifyMagicLink: (token, { confirmed } = {}) =>
      verify('POST /auth/verify-magic-link', { token, ...(confirmed && { confirmed }) }),
    sendCode: send,
    verifyCode: (input) => verify('POST /auth/verify-code', input),
  }
}
