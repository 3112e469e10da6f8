import { createOutbound, jsonOf, type Answered, type OutboundCall } from '../../../../outbound/outbound.ts'
import { text } from './claims.ts'
import { IdentityProviderFault, type IdentityProvider } from './identity-provider.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** GitHub numbers its accounts; others name them. Zero is nobody. */
function subjectOf(id: unknown): string | undefined {
  if (Number.isSafeInteger(id) && Number(id) > 0) return String(id)
  return text(id)
}

/** The provider's word for what went wrong, if it is a word: anything longer might hold what it was sent. */
const wordOf = (body: unknown): string => {
  const word = isObject(body) ? body['error'] : undefined
  return typeof word === 'string' && /^\w{1,64}$/.test(word) ? `: ${word}` : ''
}

/**
 * A plain OAuth 2 provider in GitHub's shape: authorisation code with PKCE, then `GET {apiUrl}/user` and
 * `GET {apiUrl}/user/emails`.
 * Source: https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
 * and https://docs.github.com/en/rest/users/emails
 *
 * @param options.apiUrl without a slash at its end; it stands for the issuer, too
 * @param options.timeoutMs for each call
 */
export function createOauthProvider(
  { clock }: Pick<WireContext, 'clock'>,
  options: {
    name: string
    label: string
    authorizeUrl: URL
    tokenUrl: URL
    apiUrl: string
    clientId: string
    clientSecret: string
    timeoutMs: number
  },
): IdentityProvider {
  const { name, label, authorizeUrl, tokenUrl, apiUrl, clientId, clientSecret, timeoutMs } = options
  const outbound = createOutbound({
    headers: { accept: 'application/json' },
    connectMs: timeoutMs,
    limitMs: timeoutMs,
    clock,
  })

  /** @throws ProviderFault if no whole answer came */
  async function call(address: string, request: OutboundCall): Promise<Answered> {
    const reply = await outbound.call(address, request)
    if (reply.kind !== 'answered') throw new IdentityProviderFault(reply.reason)
    return reply
  }

  /** @throws ProviderFault if the answer is not JSON */
  function read(what: string, reply: Answered): unknown {
    const value = jsonOf(reply)
    if (value === undefined) throw new IdentityProviderFault(`${what} answered ${reply.status} without JSON`)
    return value
  }

  async function accessToken(code: string, redirectUri: string, codeVerifier: string): Promise<string> {
    const reply = await call(tokenUrl.href, {
      form: {
        grant_type: 'authorization_code',
        client_id: clientId,
        client_secret: clientSecret,
        code,
        redirect_uri: redirectUri,
        code_verifier: codeVerifier,
      },
    })
    const body = read('the token address', reply)
    // GitHub answers 200 with an `error` if it gives none.
    const token = isObject(body) && body['error'] === undefined ? text(body['access_token']) : undefined
    if (reply.status !== 200 || token === undefined || !/^[\x21-\x7e]{1,4096}$/.test(token))
      throw new IdentityProviderFault(
        `the token address answered ${reply.status} without a token${wordOf(body)}`,
      )
    return token
  }

  const get = (path: string, token: string): Promise<Answered> =>
    call(apiUrl + path, { headers: { authorization: `Bearer ${token}` } })

  /** The one address that is the person's first, and that the provider has verified. */
  async function verifiedAddress(token: string): Promise<string | undefined> {
    const reply = await get('/user/emails?per_page=100', token)
    // The person, or the application's registration, does not let us see any.
    if (reply.status === 403 || reply.status === 404) return undefined
    const body = read('/user/emails', reply)
    if (reply.status !== 200 || !Array.isArray(body))
      throw new IdentityProviderFault(`/user/emails answered ${reply.status} without a list${wordOf(body)}`)
    const entry = body.find(
      (one: unknown) => isObject(one) && one['primary'] === true && one['verified'] === true,
    ) as Json | undefined
    return text(entry?.['email'])
  }

  return {
    name,
    label,
    issuer: async () => apiUrl,

    async start({ redirectUri, state, codeChallenge }) {
      const address = new URL(authorizeUrl)
      const parameters = {
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        scope: 'read:user user:email',
        state,
        code_challenge: codeChallenge,
        code_challenge_method: 'S256',
      }
      for (const [key, value] of Object.entries(parameters)) address.searchParams.set(key, value)
      return address
    },

    async finish(returned, { redirectUri, codeVerifier }) {
      const code = returned.get('code')
      if (!code) throw new IdentityProviderFault('the browser came back without a code')
      const token = await accessToken(code, redirectUri, codeVerifier)
      const reply = await get('/user', token)
      const user = read('/user', reply)
      const subject = isObject(user) ? subjectOf(user['id']) : undefined
      if (reply.status !== 200 || subject === undefined)
        throw new IdentityProviderFault(`/user answered ${reply.status} without an id${wordOf(user)}`)
      const email = await verifiedAddress(token)
      return {
        issuer: apiUrl,
        subject,
        email,
        emailVerified: email !== undefined,
        name: text((user as Json)['name']),
      }
    },
  }
}
