import { Type } from '../../../base/schema.ts'

import { errors } from '../../../base/errors.ts'
import { answer, endpoint } from '../../../http/route.ts'
import type { IdentityProvider } from './provider.ts'
import type { ProviderLogin, Redirection } from './provider-login.ts'
import { RETURN_PATH_MAX } from './return-path.ts'

// Longer than any provider sends.
const Parameter = Type.Optional(Type.String({ maxLength: 4096 }))
const PARAMETERS = ['code', 'state', 'iss', 'error'] as const

const Moved = { 302: Type.String({ description: 'No body: see the header "location".' }) }

const redirected = ({ location, cookie }: Redirection) =>
  answer<string>('', {
    status: 302,
    headers: { location, 'cache-control': 'no-store', ...(cookie !== undefined && { 'set-cookie': cookie }) },
  })

/** The two steps of sign-in at each identity provider, including those that are not configured. */
export function providerEndpoints({
  providers,
  providerLogin,
}: {
  providers: readonly IdentityProvider[]
  providerLogin: ProviderLogin
}) {
  function providerOf(name: string): IdentityProvider {
    const provider = providers.find((one) => one.name === name)
    if (provider) return provider
    throw errors.provider_not_configured({
      message: `The identity provider "${name}" is not configured: set its client id and secret.`,
    })
  }

  const start = (name: string, kind: string) =>
    endpoint(
      {
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
        }),
        headers: Type.Object({ cookie: Type.Optional(Type.String()) }),
        reply: Moved,
        errors: [errors.provider_not_configured],
      },
      async ({ query, headers }) =>
        redirected(await providerLogin.start(providerOf(name), headers.cookie, query.redirect)),
    )

  const finish = (name: string, kind: string) =>
    endpoint(
      {
        summary: `Finish the sign-in at ${kind}`,
        description:
          'Errors in the fragment: `access_denied`, `account_disabled`, `account_exists`, `email_required`, `invalid_state`, `provider_error`, `registration_closed`.',
        access: 'public',
        limit: '30/min',
        query: Type.Object({ code: Parameter, state: Parameter, iss: Parameter, error: Parameter }),
        headers: Type.Object({ cookie: Type.Optional(Type.String()) }),
        reply: Moved,
        errors: [errors.provider_not_configured],
      },
      async ({ query, headers, ip, userAgent, record }) => {
        const returned = new URLSearchParams()
        for (const parameter of PARAMETERS) {
          const value = query[parameter]
          if (value !== undefined) returned.set(parameter, value)
        }
        const client = { ip, userAgent, record }
        return redirected(await providerLogin.finish(providerOf(name), returned, headers.cookie, client))
      },
    )

  const [idpa, idpb] = ['an OpenID Connect issuer', 'an OAuth 2 provider'] as const
  return {
    idpa: { start: start('idpa', idpa), finish: finish('idpa', idpa) },
    idpb: { start: start('idpb', idpb), finish: finish('idpb', idpb) },
  }
}
