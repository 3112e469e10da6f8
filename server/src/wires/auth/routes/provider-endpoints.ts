import { Type } from '../../../base/schema.ts'

import { errors } from '../../../base/errors.ts'
import { form } from '../../../http/bodies.ts'
import { answer, endpoint } from '../../../http/route.ts'
import { BUILT_IN_NAMES, type IdentityProvider } from '../sign-in/identity-providers/identity-provider.ts'
import type { ProviderLogin, Redirection } from '../sign-in/identity-providers/provider-login.ts'
import { RETURN_PATH_MAX } from '../sign-in/identity-providers/return-path.ts'

// Longer than any provider sends.
const Parameter = Type.Optional(Type.String({ maxLength: 4096 }))
const PARAMETERS = ['code', 'state', 'iss', 'error', 'user'] as const
type Parameters = { readonly [name in (typeof PARAMETERS)[number]]?: string }

/** What a provider returns with; `user` is Apple's. */
const Returned = { code: Parameter, state: Parameter, iss: Parameter, error: Parameter, user: Parameter }

const ByName = Type.Object({
  name: Type.String({
    maxLength: 64,
    description: 'Its name in `auth.providers`; or `idpa`, `idpb`.',
    examples: ['idpa'],
  }),
})
const WithCookie = Type.Object({ cookie: Type.Optional(Type.String()) })

const Moved = Type.String({ description: 'No body: see the header "location".' })

const Listed = Type.Object({
  name: Type.String(),
  label: Type.String({ description: 'Its name for people.' }),
  url: Type.String({ description: 'Where the browser starts.' }),
})

const redirected = ({ location, cookie }: Redirection, status = 302) =>
  answer<string>('', {
    status,
    headers: { location, 'cache-control': 'no-store', ...(cookie !== undefined && { 'set-cookie': cookie }) },
  })

function returnedOf(parameters: Parameters): URLSearchParams {
  const returned = new URLSearchParams()
  for (const name of PARAMETERS) {
    const value = parameters[name]
    if (value !== undefined) returned.set(name, value)
  }
  return returned
}

const startSpec = (kind: string) =>
  ({
    summary: `Start the sign-in at ${kind}`,
    description:
      'For browsers. Redirects to the provider, which redirects to the callback, which redirects to `APP_URL/auth/callback` with `#token=…&refreshToken=…` or `#error=…`, and with `redirect` as a browser writes it. `redirect` is missing with `invalid_state`: it is not known then.',
    access: 'public',
    limit: '30/min',
    query: Type.Object({
      redirect: Type.Optional(
        Type.String({
          maxLength: RETURN_PATH_MAX,
          description: 'A path on `APP_URL` where the frontend goes on.',
        }),
      ),
      page: Type.Optional(
        Type.Enum(['console'], { description: 'Returns to the page at `/console` instead of `APP_URL`.' }),
      ),
    }),
    headers: WithCookie,
    reply: { 302: Moved },
    errors: [errors.provider_not_configured],
  }) as const

const finishSpec = (kind: string) =>
  ({
    summary: `Finish the sign-in at ${kind}`,
    description:
      'Errors in the fragment: `access_denied`, `account_disabled`, `account_exists`, `email_required`, `invalid_state`, `provider_error`, `registration_closed`; and `second_factor_required` with `challenge` and `factors` (`passkey,totp`) for `POST /auth/second-factor`.',
    access: 'public',
    limit: '30/min',
    query: Type.Object(Returned),
    headers: WithCookie,
    reply: { 302: Moved },
    errors: [errors.provider_not_configured],
  }) as const

/** The steps of sign-in at each identity provider, including those that are not configured. */
export function providerEndpoints(wire: EndpointParts) {
  return {
    idpa: builtIn(wire, 'idpa', 'an OpenID Connect issuer'),
    idpb: builtIn(wire, 'idpb', 'an OAuth 2 provider'),
    byName: byName(wire),
    list: listOf(wire),
  }
}

type EndpointParts = { providers: readonly IdentityProvider[]; providerLogin: ProviderLogin }

/** @throws PROVIDER_NOT_CONFIGURED */
function providerOf({ providers }: EndpointParts, name: string): IdentityProvider {
  const provider = providers.find((one) => one.name === name)
  if (provider) return provider
  const others = providers.map((one) => one.name).join(', ')
  throw errors.provider_not_configured({
    message: BUILT_IN_NAMES.includes(name)
      ? `The identity provider "${name}" is not configured: set its client id and secret.`
      : `No identity provider of this name is in auth.providers. Configured: ${others || 'none'}.`,
  })
}

const builtIn = (wire: EndpointParts, name: string, kind: string) => ({
  start: endpoint(startSpec(kind), async ({ query, headers }) =>
    redirected(await wire.providerLogin.start(providerOf(wire, name), headers.cookie, query)),
  ),
  finish: endpoint(finishSpec(kind), async ({ query, headers, ip, userAgent, actor, record }) => {
    const client = { ip, userAgent, actor, record }
    return redirected(
      await wire.providerLogin.finish(providerOf(wire, name), returnedOf(query), headers.cookie, client),
    )
  }),
})

const byName = (wire: EndpointParts) => ({
  start: endpoint(
    { ...startSpec('an identity provider'), params: ByName },
    async ({ params, query, headers }) =>
      redirected(await wire.providerLogin.start(providerOf(wire, params.name), headers.cookie, query)),
  ),
  finish: endpoint(
    { ...finishSpec('an identity provider'), params: ByName },
    async ({ params, query, headers, ip, userAgent, actor, record }) => {
      const provider = providerOf(wire, params.name)
      const client = { ip, userAgent, actor, record }
      return redirected(await wire.providerLogin.finish(provider, returnedOf(query), headers.cookie, client))
    },
  ),
  receive: endpoint(
    {
      summary: 'Receive the form of an identity provider',
      description:
        'For browsers that return with a form (`response_mode=form_post`), as Apple has it. Redirects to the callback with the same parameters: the request of a form from another site has no cookie, and the one after it has.',
      access: 'public',
      limit: '30/min',
      params: ByName,
      body: form(Type.Object(Returned, { title: 'ProviderForm', examples: [{ error: 'access_denied' }] })),
      reply: { 303: Moved },
      errors: [errors.provider_not_configured],
    },
    ({ params, body }) => {
      const callback = `${wire.providerLogin.urlOf(providerOf(wire, params.name))}/callback`
      return redirected({ location: `${callback}?${returnedOf(body).toString()}` }, 303)
    },
  ),
})

const listOf = ({ providers, providerLogin }: EndpointParts) =>
  endpoint(
    {
      summary: 'List the identity providers',
      description:
        'What a page to sign in can offer: send the browser to `url`, with `redirect` if you like.',
      access: 'public',
      limit: '60/min',
      reply: { 200: Type.Object({ providers: Type.Array(Listed) }, { title: 'IdentityProviders' }) },
    },
    () => ({
      providers: providers.map((provider) => ({
        name: provider.name,
        label: provider.label,
        url: providerLogin.urlOf(provider),
      })),
    }),
  )
