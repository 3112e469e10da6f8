import type { ClientAuth, Configuration, IDToken, UserInfoResponse } from 'openid-client'

import { createOutbound } from '../../../../outbound/outbound.ts'
import { text } from './claims.ts'
import { cachedDiscovery, type Discovery } from './openid-discovery.ts'
import { IdentityProviderFault, type IdentityProvider, type ProvenIdentity } from './identity-provider.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'

/** Loaded at the first sign-in: no start waits for it. */
const client = () => import('openid-client')
export type OpenidClient = Awaited<ReturnType<typeof client>>

/** What an issuer says about a person. */
export type OpenidClaims = {
  /** The claims of the ID token, which is verified. */
  idToken: IDToken
  /** Where the address is from: the ID token, or else the user info. */
  source: IDToken | UserInfoResponse
  /** The parameters of the callback; nothing proves that the issuer sent them. */
  returned: URLSearchParams
}

export type OpenidIssuer = Discovery & {
  name: string
  label: string
  /** How this server authenticates at the token endpoint. */
  clientAuth: (openid: OpenidClient) => ClientAuth
  /** The scopes beside `openid`. */
  scopes: readonly string[]
  /** How the issuer returns, if not by the query. OAuth 2.0 Form Post Response Mode. */
  responseMode?: 'form_post'
  /** What the issuer does in a way of its own. Throws if this person may not sign in. */
  refine?: (identity: ProvenIdentity, claims: OpenidClaims) => ProvenIdentity
  /** For each call, in milliseconds. */
  timeoutMs: number
}

/** Sends the client's secret in the way that the issuer reads: OpenID Connect Core 1.0, section 9, and its default. */
export const clientSecretAuth =
  (clientSecret: string) =>
  ({ ClientSecretBasic, ClientSecretPost }: OpenidClient): ClientAuth => {
    const basic = ClientSecretBasic(clientSecret)
    const post = ClientSecretPost(clientSecret)
    return (issuer, credentials, body, headers) => {
      const methods = issuer.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      const isBasic = methods.includes('client_secret_basic') || !methods.includes('client_secret_post')
      ;(isBasic ? basic : post)(issuer, credentials, body, headers)
    }
  }

/** Some issuers write booleans as text. */
export const isTrue = (claim: unknown): boolean => claim === true || claim === 'true'

/**
 * An OpenID Connect issuer, found by OpenID Connect Discovery 1.0 when it is first needed.
 * Signature, issuer, audience, nonce, expiry and algorithm of the ID token are checked, though it comes over TLS.
 *
 * @param issuer an http one is for the caller to refuse
 */
export function createOpenidProvider(
  { clock }: Pick<WireContext, 'clock'>,
  options: OpenidIssuer,
): IdentityProvider {
  const { name, label, scopes, responseMode, refine, timeoutMs } = options
  const outbound = createOutbound({ connectMs: timeoutMs, limitMs: timeoutMs, clock })
  const configured = cachedDiscovery(clock, outbound, options, async () => {
    const openid = await client()
    return { openid, clientAuth: options.clientAuth(openid) }
  })

  return {
    name,
    label,

    async issuer() {
      const { issuer } = (await configured()).serverMetadata()
      if (issuer.includes('{tenantid}'))
        throw new IdentityProviderFault('each tenant has an issuer of its own')
      return issuer
    },

    async check() {
      await configured().catch((error: unknown) => {
        throw new Error(`its discovery document cannot be read: ${reasonOf(error)}`, { cause: error })
      })
    },

    async start({ redirectUri, state, nonce, codeChallenge }) {
      const { buildAuthorizationUrl } = await client()
      return buildAuthorizationUrl(await configured(), {
        redirect_uri: redirectUri,
        scope: ['openid', ...scopes].join(' '),
        state,
        nonce,
        code_challenge: codeChallenge,
        code_challenge_method: 'S256',
        ...(responseMode && { response_mode: responseMode }),
      })
    },

    async finish(returned, { redirectUri, state, nonce, codeVerifier }) {
      const { authorizationCodeGrant } = await client()
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
      const source = await addressSource(configuration, idToken, tokens.access_token)
      const identity: ProvenIdentity = {
        issuer: idToken.iss,
        subject,
        email: text(source['email']),
        emailVerified: isTrue(source['email_verified']),
        name: text(source['name']) ?? text(idToken['name']),
      }
      return refine ? refine(identity, { idToken, source, returned }) : identity
    },
  }
}

/** The library says that something went wrong; its innermost cause says what: `connect ECONNREFUSED 127.0.0.1:9`. */
function reasonOf(error: unknown): string {
  const { cause, message, code } = error as { cause?: unknown; message?: string; code?: string }
  if (cause instanceof Error) return reasonOf(cause)
  if (cause instanceof Response) return `the answer is HTTP ${cause.status}`
  return message || code || 'it does not answer'
}

/** Many issuers tell the address only there. Of one source both are taken, the address and whether it is verified. */
async function addressSource(configuration: Configuration, idToken: IDToken, accessToken: string) {
  const isAsked =
    idToken['email'] === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined
  const { fetchUserInfo } = await client()
  return isAsked ? fetchUserInfo(configuration, accessToken, idToken.sub) : idToken
}
