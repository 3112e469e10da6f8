import type { ClientAuth, Configuration, CustomFetch } from 'openid-client'

import type { Clock } from '../../../base/clock.ts'
import { createOutbound, type OutboundMethod, type Outbound } from '../../../outbound/outbound.ts'
import { text } from './claims.ts'
import { IdentityProviderFault, type IdentityProvider } from './provider.ts'

const DISCOVERED_MS = 3_600_000

/** Loaded at the first sign-in: no start waits for it. */
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

/** What openid-client calls the issuer by. Its own signal is left aside: a call of ours ends by its own limit. */
const fetchBy =
  (outbound: Outbound): CustomFetch =>
  async (address, { method, headers, body }) => {
    const reply = await outbound.call(address, {
      method: method as OutboundMethod,
      headers,
      ...(body !== undefined && body !== null && { body: contentOf(body) }),
    })
    if (reply.kind !== 'answered') throw new IdentityProviderFault(reply.reason)
    const responseHeaders = new Headers()
    for (const [name, value] of Object.entries(reply.headers))
      for (const one of [value ?? []].flat()) responseHeaders.append(name, one)
    // Responses of these statuses can't be made with a body, not even an empty one.
    const content = [204, 205, 304].includes(reply.status) ? null : new Uint8Array(reply.body)
    return new Response(content, { status: reply.status, headers: responseHeaders })
  }

/** It sends forms, as text or as parameters. */
function contentOf(body: unknown): string {
  if (typeof body === 'string' || body instanceof URLSearchParams) return body.toString()
  throw new TypeError('openid-client sends a body that is neither text nor a form')
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
): IdentityProvider {
  const { name, label, issuer, clientId, clientSecret, timeoutMs } = options
  const outbound = createOutbound({ connectMs: timeoutMs, limitMs: timeoutMs, clock })
  let cache: { configuration: Promise<Configuration>; until: number } | undefined

  async function discover(): Promise<Configuration> {
    const openid = await client()
    // oxlint-disable-next-line typescript/no-deprecated -- marked to stand out; plain http was looked at before
    const plain = issuer.protocol === 'http:' ? [openid.allowInsecureRequests] : []
    return openid.discovery(issuer, clientId, undefined, secretOf(openid, clientSecret), {
      execute: [openid.enableNonRepudiationChecks, ...plain],
      [openid.customFetch]: fetchBy(outbound),
    })
  }

  /** What the issuer says of itself. A failure is not kept: the next sign-in asks again. */
  function configured(): Promise<Configuration> {
    if (cache && cache.until > clock.now()) return cache.configuration
    const discovery = { configuration: discover(), until: clock.now() + DISCOVERED_MS }
    discovery.configuration.catch(() => {
      if (cache === discovery) cache = undefined
    })
    cache = discovery
    return discovery.configuration
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
      if (!idToken || subject === undefined) throw new IdentityProviderFault('the ID token names nobody')
      // Many issuers tell the address only there. Of one source both are taken, the address and whether it is verified.
      const asks =
        idToken['email'] === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined
      const claims = asks ? await fetchUserInfo(configuration, tokens.access_token, subject) : idToken
      const emailVerified: unknown = claims['email_verified']
      return {
        issuer: idToken.iss,
        subject,
        email: text(claims['email']),
        // Some issuers write it as text.
        emailVerified: emailVerified === true || emailVerified === 'true',
        name: text(claims['name']) ?? text(idToken['name']),
      }
    },
  }
}
