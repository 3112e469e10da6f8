import { createHash } from 'node:crypto'

import type { FastifyReply, FastifyRequest } from 'fastify'
import { SignJWT } from 'jose'

import { sha256 } from '../../base/crypto.ts'
import { formOf, takeForms } from '../forms.ts'
import type { StandIn, StandInContext } from '../stand-in.ts'
import type { Checked } from './consent.ts'
import type { AuthorizationRequest, Grant } from './grants.ts'
import { parametersOf } from './parameters.ts'
import type { Person } from './people.ts'
import { createProvider } from './provider.ts'
import { ALGORITHM, createSigningKey } from './signing-key.ts'

const PATH = '/idpa'
const TOKEN_SECONDS = 3600
const S256_CHALLENGE = /^[\w-]{43}$/

const LOOK = {
  dress: 'idpa',
  name: 'Provider A',
  protocol: 'OpenID Connect',
  scopes: { openid: 'who you are', email: 'your email address', profile: 'your name' },
}

/**
 * An OpenID Connect issuer that knows the people of the sandbox: discovery, authorization code with PKCE, ID tokens
 * (RS256), userinfo. Its client is registered with one redirect address, as at a real one.
 * OpenID Connect Core 1.0, OpenID Connect Discovery 1.0, RFC 6749, RFC 7636, RFC 9207.
 */
export function createIdpa(context: StandInContext): StandIn {
  const { db, clock, settings, base } = context
  const issuer = base + PATH
  const provider = createProvider(context, 'idpa', { says: { iss: issuer } })
  const { clientId, clientSecret, redirectUri, people, grants, answering, back } = provider
  const signingKey = createSigningKey(db, settings.secret)

  async function check(query: URLSearchParams): Promise<Checked> {
    const { get, repeated } = parametersOf(query)
    if (get('client_id') !== clientId)
      return { refuse: `client_id: no application is registered as "${get('client_id') ?? ''}".` }
    if (repeated === 'redirect_uri' || get('redirect_uri') !== redirectUri)
      return { refuse: `redirect_uri: this application is registered with ${redirectUri} only.` }
    const request: AuthorizationRequest = {
      redirectUri,
      redirectUriGiven: true,
      scope: get('scope') ?? '',
      ...optional('state', get('state')),
      ...optional('nonce', get('nonce')),
      ...optional('challenge', get('code_challenge')),
    }
    const fail = (error: string, error_description: string): Checked => ({
      redirect: back(request, { error, error_description }),
    })
    if (repeated !== undefined) return fail('invalid_request', `${repeated} came more than once`)
    if (get('request') !== undefined)
      return fail('request_not_supported', 'request objects are not supported')
    if (get('request_uri') !== undefined)
      return fail('request_uri_not_supported', 'request objects are not supported')
    if (get('response_type') !== 'code')
      return fail('unsupported_response_type', 'response_type must be code')
    if ((get('response_mode') ?? 'query') !== 'query')
      return fail('invalid_request', 'response_mode must be query')
    if (!request.scope.split(' ').includes('openid'))
      return fail('invalid_scope', 'scope must contain openid')
    const method = get('code_challenge_method')
    if (request.challenge === undefined ? method !== undefined : method !== 'S256')
      return fail('invalid_request', 'code_challenge_method must be S256, with a code_challenge')
    if (request.challenge !== undefined && !S256_CHALLENGE.test(request.challenge))
      return fail('invalid_request', 'code_challenge must be a SHA-256 in base64url')
    // There are no sessions here, so there is always a page to show.
    if (get('prompt') === 'none') return fail('login_required', 'nobody is signed in')
    return { ask: request, ...optional('hint', get('login_hint')) }
  }

  async function idToken(
    person: Person,
    { request, grantedAt }: Grant,
    accessToken: string,
  ): Promise<string> {
    const { kid, privateKey } = await signingKey()
    const now = Math.floor(clock.now() / 1000)
    return new SignJWT({
      ...claimsOf(person, request.scope),
      ...optional('nonce', request.nonce),
      auth_time: Math.floor(grantedAt / 1000),
      at_hash: createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url'),
    })
      .setProtectedHeader({ alg: ALGORITHM, kid, typ: 'JWT' })
      .setIssuer(issuer)
      .setAudience(clientId)
      .setIssuedAt(now)
      .setExpirationTime(now + TOKEN_SECONDS)
      .sign(privateKey)
  }

  async function token(request: FastifyRequest, reply: FastifyReply) {
    const { get, repeated } = parametersOf(formOf(request.body))
    const fail = (status: number, error: string, error_description: string) => {
      reply.code(status)
      return { error, error_description }
    }
    reply.header('cache-control', 'no-store')
    if (repeated !== undefined) return fail(400, 'invalid_request', `${repeated} came more than once`)
    const basic = basicOf(request.headers.authorization)
    if (basic && get('client_secret') !== undefined)
      return fail(400, 'invalid_request', 'the client authenticates in two ways')
    const client = basic ?? { id: get('client_id'), secret: get('client_secret') }
    if (client.id !== clientId || client.secret !== clientSecret) {
      if (basic) reply.header('www-authenticate', 'Basic realm="idpa"')
      return fail(401, 'invalid_client', 'the client id or its secret is wrong')
    }
    if (get('grant_type') !== 'authorization_code')
      return fail(400, 'unsupported_grant_type', 'grant_type must be authorization_code')
    const code = get('code')
    if (code === undefined) return fail(400, 'invalid_request', 'code is missing')

    // The code is used up from here on, whatever else is wrong.
    const grant = await grants.take(code)
    if (!grant) return fail(400, 'invalid_grant', 'the code is unknown, used or expired')
    if (get('redirect_uri') !== grant.request.redirectUri)
      return fail(400, 'invalid_grant', 'redirect_uri differs from that of the authorization request')
    if (!isVerified(get('code_verifier'), grant.request.challenge))
      return fail(400, 'invalid_grant', 'code_verifier does not match the code_challenge')
    const person = await people.find(grant.personId)
    if (!person) return fail(400, 'invalid_grant', 'the person was deleted')
    const accessToken = await grants.token(grant, TOKEN_SECONDS * 1000)
    return {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: TOKEN_SECONDS,
      scope: grant.request.scope,
      id_token: await idToken(person, grant, accessToken),
    }
  }

  async function userinfo(request: FastifyRequest, reply: FastifyReply) {
    const [, accessToken = ''] = /^Bearer ([\w.~+/=-]+)$/i.exec(request.headers.authorization ?? '') ?? []
    const holder = await grants.holder(accessToken)
    const person = holder && (await people.find(holder.personId))
    if (person) return claimsOf(person, holder.scope)
    reply.code(401).header('www-authenticate', 'Bearer error="invalid_token"')
    return { error: 'invalid_token', error_description: 'the access token is unknown or expired' }
  }

  return provider.standIn({
    describe: () => ({
      IDPA_ISSUER: issuer,
      IDPA_CLIENT_ID: clientId,
      IDPA_CLIENT_SECRET: clientSecret,
      IDPA_LABEL: LOOK.name,
    }),
    async routes(engine) {
      takeForms(engine)
      engine.get(
        `${PATH}/.well-known/openid-configuration`,
        answering(async () => metadataOf(issuer)),
      )
      engine.get(
        `${PATH}/jwks`,
        answering(async () => ({ keys: [(await signingKey()).publicJwk] })),
      )
      engine.post(`${PATH}/token`, answering(token))
      engine.route({ method: ['GET', 'POST'], url: `${PATH}/userinfo`, handler: answering(userinfo) })
      provider.consent(engine, {
        path: '/authorize',
        look: LOOK,
        check,
        denied: { error: 'access_denied', error_description: 'the person denied access' },
      })
    },
  })
}

/** OpenID Connect Discovery 1.0, section 3. */
const metadataOf = (issuer: string) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  userinfo_endpoint: `${issuer}/userinfo`,
  jwks_uri: `${issuer}/jwks`,
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: [ALGORITHM],
  scopes_supported: ['openid', 'email', 'profile'],
  claims_supported: ['iss', 'sub', 'aud', 'exp', 'iat', 'nonce', 'email', 'email_verified', 'name'],
  token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
})

const claimsOf = (person: Person, scope: string): Record<string, unknown> => {
  const scopes = scope.split(' ')
  return {
    sub: person.id,
    ...(scopes.includes('email') && { email: person.email, email_verified: person.verified }),
    ...(scopes.includes('profile') && { name: person.name }),
  }
}

const optional = <K extends string>(name: K, value: string | undefined): { [N in K]?: string } =>
  value === undefined ? {} : ({ [name]: value } as { [N in K]?: string })

/** RFC 7636, section 4.6. A verifier without a challenge is refused, too: the challenge may have been removed (PKCE downgrade). */
function isVerified(verifier: string | undefined, challenge: string | undefined): boolean {
  if (verifier === undefined || challenge === undefined) return verifier === challenge
  return sha256(verifier) === challenge
}

/** RFC 6749, section 2.3.1: id and secret are form-encoded before they are joined. */
function basicOf(header = ''): { id: string; secret: string } | undefined {
  const [, credentials] = /^Basic ([\w+/=-]+)$/i.exec(header) ?? []
  if (credentials === undefined) return undefined
  const [id = '', secret = ''] = Buffer.from(credentials, 'base64').toString().split(':')
  const decode = (text: string): string => new URLSearchParams(`x=${text}`).get('x') ?? ''
  return { id: decode(id), secret: decode(secret) }
}
