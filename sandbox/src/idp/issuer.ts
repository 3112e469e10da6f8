import { createHash } from 'node:crypto'

import type { FastifyReply, FastifyRequest } from 'fastify'
import { SignJWT } from 'jose'

import { sha256 } from '../../../server/src/base/crypto.ts'
import { formOf, takeForms } from '../forms.ts'
import type { StandIn, StandInContext } from '../stand-in.ts'
import type { Checked } from './consent.ts'
import type { AuthorizationRequest, Grant } from './grants.ts'
import { parametersOf } from './parameters.ts'
import type { Person } from './people.ts'
import type { ConsentStyle } from './consent-page.ts'
import { createProvider, type SandboxClient } from './provider.ts'
import { ALGORITHM, createSigningKey } from './signing-key.ts'

const TOKEN_SECONDS = 3600
const S256_CHALLENGE = /^[\w-]{43}$/

/** What the scopes let an application know, in words. */
export const ADDRESS_AND_NAME = {
  openid: 'who you are',
  email: 'your email address',
  profile: 'your name',
}

/** The claims of an issuer that follows the standard: OpenID Connect Core 1.0, section 5.4. */
export const claimsOf: IssuerKind['claimsOf'] = ({ name, email, verified }, scopes) => ({
  ...(scopes.includes('email') && { email, email_verified: verified }),
  ...(scopes.includes('profile') && { name }),
})

/** What one issuer does in its own way. */
export type IssuerKind = {
  /** Its name; it is below `/sandbox/<name>`. */
  name: string
  look: ConsentStyle
  /** The client of `auth.providers`; if absent, it has one of its own, with the callback of its name. */
  client?: SandboxClient
  /** Its tenants: each has an issuer of its own, below `/sandbox/<name>/<tenant>`. */
  tenants?: {
    /** The tenant in the metadata at `tenant`: a template if they are those of several. */
    published: (tenant: string) => string
    /** The tenant of the accounts that sign in at `tenant`. */
    of: (tenant: string) => string
  }
  /** The claims about a person, of these scopes. */
  claimsOf: (person: Person, scopes: readonly string[], tenant: string) => Record<string, unknown>
  /** How it answers, if not by the query; OAuth 2.0 Form Post Response Mode. */
  form?: {
    /** Fields beside code and state. */
    fieldsOf: (person: Person) => Record<string, string>
  }
  /** Whether it names itself when it answers: RFC 9207. */
  namesItself: boolean
  variablesOf: (client: SandboxClient, issuer: string) => Record<string, string>
}

/**
 * An OpenID Connect issuer that knows the people of the sandbox: discovery, authorization code with PKCE, ID tokens
 * (RS256), userinfo. Its client is registered with its redirect address, as at a real one.
 * OpenID Connect Core 1.0, OpenID Connect Discovery 1.0, RFC 6749, RFC 7636, RFC 9207.
 */
export function createIssuer(context: StandInContext, { kind }: { kind: IssuerKind }): StandIn {
  const { db, clock, settings, base } = context
  const { name, tenants, namesItself, form } = kind
  const path = tenants ? `/${name}/:tenant/v2.0` : `/${name}`
  const issuerAt = (tenant: string): string => base + path.replace(':tenant', tenant)
  const tenantOf = ({ params }: FastifyRequest): string => (params as { tenant?: string }).tenant ?? ''
  const provider = createProvider(context, {
    name,
    ...(namesItself && { says: { iss: issuerAt('') } }),
    ...(kind.client && { client: kind.client }),
  })
  const { client, people, grants, answering, back } = provider
  const signingKey = createSigningKey({ db }, { secret: settings.secret })

  async function check(query: URLSearchParams): Promise<Checked> {
    const { get, repeated } = parametersOf(query)
    if (get('client_id') !== client.id)
      return { refuse: `client_id: no application is registered as "${get('client_id') ?? ''}".` }
    const redirectUri = get('redirect_uri') ?? ''
    if (repeated === 'redirect_uri' || !client.redirects.test(redirectUri))
      return { refuse: `redirect_uri: this application is registered with ${client.redirectUri} only.` }
    const request: AuthorizationRequest = {
      redirectUri,
      redirectUriGiven: true,
      scope: get('scope') ?? '',
      ...(form && { isForm: true }),
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
    const mode = form ? 'form_post' : 'query'
    if ((get('response_mode') ?? 'query') !== mode)
      return fail('invalid_request', `response_mode must be ${mode}`)
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

  const ownTenant = (request: FastifyRequest): string => tenants?.of(tenantOf(request)) ?? ''
  const claimsAbout = (person: Person, scope: string, tenant: string) => ({
    sub: person.id,
    ...kind.claimsOf(person, scope.split(' '), tenant),
  })

  async function idToken(
    person: Person,
    { request, grantedAt }: Grant,
    accessToken: string,
    tenant: string,
  ): Promise<string> {
    const { kid, privateKey } = await signingKey()
    const now = Math.floor(clock.now() / 1000)
    return new SignJWT({
      ...claimsAbout(person, request.scope, tenant),
      ...optional('nonce', request.nonce),
      auth_time: Math.floor(grantedAt / 1000),
      at_hash: createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url'),
    })
      .setProtectedHeader({ alg: ALGORITHM, kid, typ: 'JWT' })
      .setIssuer(issuerAt(tenant))
      .setAudience(client.id)
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
    const caller = basic ?? { id: get('client_id'), secret: get('client_secret') }
    if (caller.id !== client.id || !client.accepts(caller.secret ?? '')) {
      if (basic) reply.header('www-authenticate', `Basic realm="${name}"`)
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
      id_token: await idToken(person, grant, accessToken, ownTenant(request)),
    }
  }

  async function userinfo(request: FastifyRequest, reply: FastifyReply) {
    const [, accessToken = ''] = /^Bearer ([\w.~+/=-]+)$/i.exec(request.headers.authorization ?? '') ?? []
    const holder = await grants.holder(accessToken)
    const person = holder && (await people.find(holder.personId))
    if (person) return claimsAbout(person, holder.scope, ownTenant(request))
    reply.code(401).header('www-authenticate', 'Bearer error="invalid_token"')
    return { error: 'invalid_token', error_description: 'the access token is unknown or expired' }
  }

  return provider.standIn({
    describe: () => kind.variablesOf(client, issuerAt('')),
    async routes(engine) {
      takeForms(engine)
      engine.get(
        `${path}/.well-known/openid-configuration`,
        answering(async (request) => {
          const tenant = tenantOf(request)
          const published = issuerAt(tenants?.published(tenant) ?? '')
          return metadataOf(published, issuerAt(tenant), { form: form !== undefined, namesItself })
        }),
      )
      engine.get(
        `${path}/jwks`,
        answering(async () => ({ keys: [(await signingKey()).publicJwk] })),
      )
      engine.post(`${path}/token`, answering(token))
      engine.route({ method: ['GET', 'POST'], url: `${path}/userinfo`, handler: answering(userinfo) })
      provider.consent(engine, {
        path: `${path}/authorize`,
        look: kind.look,
        check,
        denied: { error: 'access_denied', error_description: 'the person denied access' },
        ...(form && { fieldsOf: form.fieldsOf }),
      })
    },
  })
}

/** OpenID Connect Discovery 1.0, section 3. */
const metadataOf = (
  issuer: string,
  address: string,
  { form, namesItself }: { form: boolean; namesItself: boolean },
) => ({
  issuer,
  authorization_endpoint: `${address}/authorize`,
  token_endpoint: `${address}/token`,
  userinfo_endpoint: `${address}/userinfo`,
  jwks_uri: `${address}/jwks`,
  response_types_supported: ['code'],
  response_modes_supported: [form ? 'form_post' : 'query'],
  grant_types_supported: ['authorization_code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: [ALGORITHM],
  scopes_supported: ['openid', 'email', 'profile'],
  claims_supported: ['iss', 'sub', 'aud', 'exp', 'iat', 'nonce', 'email', 'email_verified', 'name'],
  token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: namesItself,
})

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
