import type { ClientAuth, Configuration } from 'openid-client'

import type { Clock } from '../../../base/clock.ts'
import { ProviderFault, type Provider } from './provider.ts'
import { createProviderFetch, text } from './fetch.ts'

const DISCOVERED_MS = 3_600_000

/** Loaded when somebody signs in: no start waits for it. */
const client = () => import('openid-client')
type Client = Awaited<ReturnType<typeof client>>

/** Sends the client's secret in the way that the issuer reads: OpenID Connect Core 1.0, section 9, and its default. */
function secretOf({ ClientSecretBasic, ClientSecretPost }: Client, clientSecret: string): ClientAuth {
  const basic = ClientSecretBasic(clientSecret)
  const post = ClientSecretPost(clientSecret)
  return (issuer, credentials, body, headers) => {
    const methods = issuer.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const isBasic = methods.includes('client_secret_basic') || !methods.includes('client_secret_post')
    ;(isBasic ? basic : post)(issuer, credentials, body, headers)
  }
}

/**
 * Any OpenID Connect issuer, found by OpenID Connect Discovery 1.0 when it is first needed.
 * Signature, issuer, audience, nonce, expiry and algorithm of the ID token are checked, though it comes over TLS.
 *
 * @param options.issuer an http one is for the caller to refuse
 * @param options.timeoutMs for each call
 */
export function createOidcProvider(
  clock: Clock,
  options: {
    name: string
    label: string
    issuer: URL
    clientId: string
    clientSecret: string
    timeoutMs: number
  },
): Provider {
  const { name, label, issuer, clientId, clientSecret, timeoutMs } = options
  const providerFetch = createProviderFetch(timeoutMs)
  let known: { configuration: Promise<Configuration>; until: number } | undefined

  async function discover(): Promise<Configuration> {
    const openid = await client()
    // oxlint-disable-next-line typescript/no-deprecated -- marked to stand out; plain http was looked at before
    const plain = issuer.protocol === 'http:' ? [openid.allowInsecureRequests] : []
    return openid.discovery(issuer, clientId, undefined, secretOf(openid, clientSecret), {
      timeout: timeoutMs / 1000,
      execute: [openid.enableNonRepudiationChecks, ...plain],
      [openid.customFetch]: providerFetch,
    })
  }

  /** What the issuer says of itself. A failure is not kept: the next sign-in asks again. */
  function configured(): Promise<Configuration> {
    if (known && known.until > clock.now()) return known.configuration
    const asked = { configuration: discover(), until: clock.now() + DISCOVERED_MS }
    asked.configuration.catch(() => {
      if (known === asked) known = undefined
    })
    known = asked
    return asked.configuration
  }

  return {
    name,
    label,

    async start({ redirectUri, state, nonce, codeChallenge }) {
      const { buildAuthorizationUrl } = await client()
      return buildAuthorizationUrl(await configured(), {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        state,
        nonce,
        code_challenge: codeChallenge,
        code_challenge_method: 'S256',
      })
    },

    async finish(returned, { redirectUri, state, nonce, codeVerifier }) {
      const { authorizationCodeGrant, fetchUserInfo } = await client()
      const configuration = await configured()
      const callback = new URL(redirectUri)
      callback.search = returned.toString()
      const tokens = await authorizationCodeGrant(configuration, callback, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: codeVerifier,
        idTokenExpected: true,
      })
      const idToken = tokens.claims()
      const subject = text(idToken?.sub)
      if (!idToken || subject === undefined) throw new ProviderFault('the ID token names nobody')
      // Many issuers tell the address only there. Of one source both are taken, the address and whether it is verified.
      const asks =
        idToken['email'] === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined
      const claims = asks ? await fetchUserInfo(configuration, tokens.access_token, subject) : idToken
      const verified: unknown = claims['email_verified']
      return {
        issuer: idToken.iss,
        subject,
        email: text(claims['email']),
        // Some issuers write it as text.
        emailVerified: verified === true || verified === 'true',
        name: text(claims['name']) ?? text(idToken['name']),
      }
    },
  }
}
