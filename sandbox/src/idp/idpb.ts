import type { FastifyReply, FastifyRequest } from 'fastify'

import { sha256 } from '../../../server/src/base/crypto.ts'
import { FORM_TYPE } from '../../../server/src/http/body-parsers.ts'
import { formOf, takeForms } from '../forms.ts'
import type { StandIn, StandInContext } from '../stand-in.ts'
import type { Checked } from './consent.ts'
import type { AuthorizationRequest } from './grants.ts'
import { parametersOf, queryOf } from './parameters.ts'
import type { Person } from './people.ts'
import { createProvider } from './provider.ts'

const PATH = '/idpb'
// GitHub's tokens are valid until they are revoked, or not used for a year.
const TOKEN_MS = 365 * 86_400_000
const DOCS = 'https://docs.github.com/rest'
const ERRORS =
  'https://docs.github.com/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors'

const LOOK = {
  dress: 'idpb',
  name: 'Provider B',
  protocol: 'OAuth 2.0',
  scopes: {
    'user:email': 'your email addresses',
    'read:user': 'your profile',
    user: 'your profile and email addresses',
  },
}

/**
 * A plain OAuth 2 provider in GitHub's shape: the token endpoint answers errors with status 200, `/user/emails` lists the
 * addresses, and each person has a second one that is verified and not primary.
 * https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
 */
export function createIdpb(context: StandInContext): StandIn {
  const provider = createProvider(context, { name: 'idpb', tokenPrefix: 'gho_' })
  const {
    address,
    client: { id: clientId, secret: clientSecret, redirectUri: registered },
    people,
    grants,
    answering,
    back,
  } = provider

  /** GitHub's rule: the registered host and port, and the registered path or one below it. */
  function mayRedirectTo(uri: string): boolean {
    if (!URL.canParse(uri)) return false
    const [target, own] = [new URL(uri), new URL(registered)]
    return (
      target.origin === own.origin &&
      target.username === '' &&
      (target.pathname === own.pathname || target.pathname.startsWith(`${own.pathname}/`))
    )
  }

  async function check(query: URLSearchParams): Promise<Checked> {
    const { get } = parametersOf(query)
    if (get('client_id') !== clientId)
      return { refuse: `client_id: no application is registered as "${get('client_id') ?? ''}".` }
    const [redirectUri, state, challenge] = [get('redirect_uri'), get('state'), get('code_challenge')]
    const request: AuthorizationRequest = {
      redirectUri: registered,
      redirectUriGiven: redirectUri !== undefined,
      scope: (get('scope') ?? '')
        .split(/[ ,]+/)
        .filter((one) => Object.hasOwn(LOOK.scopes, one))
        .join(' '),
      ...(state !== undefined && { state }),
      ...(challenge !== undefined && { challenge }),
    }
    const fail = (error: string, error_description: string): Checked => ({
      redirect: back(request, { error, error_description, error_uri: ERRORS }),
    })
    if (redirectUri !== undefined && !mayRedirectTo(redirectUri))
      return fail(
        'redirect_uri_mismatch',
        'The redirect_uri MUST match the registered callback URL for this application.',
      )
    if (challenge !== undefined && get('code_challenge_method') !== 'S256')
      return fail('invalid_request', 'The code_challenge_method must be S256.')
    const hint = get('login')
    return { ask: { ...request, ...(redirectUri !== undefined && { redirectUri }) }, ...(hint && { hint }) }
  }

  async function exchange(get: (name: string) => string | undefined): Promise<Record<string, string>> {
    if (get('client_id') !== clientId || get('client_secret') !== clientSecret)
      return {
        error: 'incorrect_client_credentials',
        error_description: 'The client_id and/or client_secret passed are incorrect.',
      }
    const badCode = {
      error: 'bad_verification_code',
      error_description: 'The code passed is incorrect or expired.',
    }
    // The code is used up from here on, whatever else is wrong.
    const grant = await grants.take(get('code') ?? '')
    if (!grant) return badCode
    const { request } = grant
    const redirectUri = get('redirect_uri')
    if (redirectUri === undefined ? request.redirectUriGiven : redirectUri !== request.redirectUri)
      return {
        error: 'redirect_uri_mismatch',
        error_description: 'The redirect_uri MUST match the registered callback URL for this application.',
      }
    const verifier = get('code_verifier') ?? ''
    if (request.challenge !== undefined && sha256(verifier) !== request.challenge) return badCode
    return {
      access_token: await grants.token(grant, TOKEN_MS),
      scope: request.scope.replaceAll(' ', ','),
      token_type: 'bearer',
    }
  }

  async function token(request: FastifyRequest, reply: FastifyReply) {
    const { get } = parametersIn(request)
    const result = await exchange(get)
    if (result['error'] !== undefined) result['error_uri'] = ERRORS
    reply.header('cache-control', 'no-store')
    if (/\bjson\b/.test(request.headers.accept ?? '')) return result
    reply.type(`${FORM_TYPE}; charset=utf-8`)
    return new URLSearchParams(result).toString()
  }

  /** The person and scopes of the request's token, or the fault to answer. */
  async function holder(request: FastifyRequest, reply: FastifyReply) {
    const fail = (status: number, message: string) => {
      reply.code(status)
      return { fault: { message, documentation_url: DOCS, status: String(status) } }
    }
    if (!request.headers['user-agent'])
      return fail(403, 'Request forbidden by administrative rules. Send a User-Agent header.')
    const [, accessToken] =
      /^(?:Bearer|token) ([\w.~+/=-]+)$/i.exec(request.headers.authorization ?? '') ?? []
    if (accessToken === undefined) return fail(401, 'Requires authentication')
    const grant = await grants.holder(accessToken)
    const person = grant && (await people.find(grant.personId))
    if (!person) return fail(401, 'Bad credentials')
    reply.header('x-oauth-scopes', grant.scope.replaceAll(' ', ', '))
    return { person, scopes: grant.scope.split(' '), notFound: () => fail(404, 'Not Found').fault }
  }

  async function user(request: FastifyRequest, reply: FastifyReply) {
    const result = await holder(request, reply)
    return 'fault' in result ? result.fault : userOf(result.person, address)
  }

  async function emails(request: FastifyRequest, reply: FastifyReply) {
    const result = await holder(request, reply)
    if ('fault' in result) return result.fault
    if (!result.scopes.some((scope) => scope === 'user:email' || scope === 'user')) return result.notFound()
    return emailsOf(result.person)
  }

  return provider.standIn({
    describe: () => ({
      IDPB_CLIENT_ID: clientId,
      IDPB_CLIENT_SECRET: clientSecret,
      IDPB_AUTHORIZE_URL: `${address}/login/oauth/authorize`,
      IDPB_TOKEN_URL: `${address}/login/oauth/access_token`,
      IDPB_API_URL: address,
      IDPB_LABEL: LOOK.name,
    }),
    async routes(engine) {
      takeForms(engine)
      engine.post(`${PATH}/login/oauth/access_token`, answering(token))
      engine.get(`${PATH}/user`, answering(user))
      engine.get(`${PATH}/user/emails`, answering(emails))
      provider.consent(engine, {
        path: '/idpb/login/oauth/authorize',
        look: LOOK,
        check,
        denied: {
          error: 'access_denied',
          error_description: 'The user has denied your application access.',
          error_uri: ERRORS,
        },
      })
    },
  })
}

/** GitHub reads the token request's parameters from a form, from JSON and from the query. */
function parametersIn({ body, url }: FastifyRequest): { get: (name: string) => string | undefined } {
  const form = parametersOf(formOf(body))
  const query = parametersOf(queryOf(url))
  const json = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
  return {
    get(name) {
      const value = json[name]
      return form.get(name) ?? (typeof value === 'string' ? value : query.get(name))
    },
  }
}

const loginOf = ({ email }: Person): string =>
  email
    .split('@')[0]!
    .toLowerCase()
    .replaceAll(/[^a-z\d]+/g, '-')

/** https://docs.github.com/rest/users/users#get-the-authenticated-user; `email` is null unless the user publishes it. */
const userOf = (person: Person, address: string): Record<string, unknown> => ({
  login: loginOf(person),
  id: Number(person.id),
  node_id: Buffer.from(`04:User${person.id}`).toString('base64'),
  avatar_url: '',
  html_url: `${address}/${loginOf(person)}`,
  url: `${address}/user`,
  type: 'User',
  site_admin: false,
  name: person.name,
  email: null,
  created_at: person.createdAt.replace(/\.\d+Z$/, 'Z'),
  updated_at: person.createdAt.replace(/\.\d+Z$/, 'Z'),
})

/** https://docs.github.com/rest/users/emails */
const emailsOf = (person: Person): Record<string, unknown>[] => [
  { email: person.email, primary: true, verified: person.verified, visibility: 'private' },
  {
    email: `${person.id}+${loginOf(person)}@users.noreply.example.com`,
    primary: false,
    verified: true,
    visibility: null,
  },
]
