import { Type } from '../../../base/schema.ts'

import { errors } from '../../../base/errors.ts'
import { answer, route } from '../../../http/route.ts'
import { isOtherName } from './public-name.ts'
import type { Provider } from './provider.ts'
import type { ProviderLogin, Redirection } from './provider-login.ts'
import { RETURN_PATH_MAX } from './return-path.ts'

// A callback parameter is the provider's; longer ones are no one's.
const Parameter = Type.Optional(Type.String({ maxLength: 4096 }))
const PARAMETERS = ['code', 'state', 'iss', 'error'] as const

const Moved = { 302: Type.String({ description: 'Nothing: see the header "location".' }) }

const redirected = ({ location, cookie }: Redirection) =>
  answer<string>('', {
    status: 302,
    headers: { location, 'cache-control': 'no-store', ...(cookie !== undefined && { 'set-cookie': cookie }) },
  })

/** The two steps of sign-in at each identity provider, also of those that are not configured. */
export function providerRoutes({
  providers,
  providerLogin,
  publicUrl,
}: {
  providers: readonly Provider[]
  providerLogin: ProviderLogin
  publicUrl: string
}) {
  function named(name: string): Provider {
    const provider = providers.find((one) => one.name === name)
    if (provider) return provider
    throw errors.provider_not_configured({
      message: `The identity provider "${name}" is not configured: give it a client id and a secret.`,
    })
  }

  const startOf = <const N extends 'idpa' | 'idpb'>(name: N, what: string) =>
    route(
      `GET /auth/${name}`,
      {
        summary: `Start the sign-in at ${what}`,
        description:
          'For a browser: it comes back to the callback, and from there to `APP_URL/auth/callback`, with `#token=…&refreshToken=…` or `#error=…`, and `redirect` as a browser writes it; not with `invalid_state`, as nobody knows it then.',
        access: 'public',
        limit: '30/min',
        query: Type.Object({
          redirect: Type.Optional(
            Type.String({ maxLength: RETURN_PATH_MAX, description: 'A path on `APP_URL` to go on to.' }),
          ),
          asked: Type.Optional(
            Type.String({
              maxLength: 100,
              description:
                'This server gives it to a browser that it sends to `PUBLIC_URL`, so as to do that once. Leave it out.',
            }),
          ),
        }),
        headers: Type.Object({ host: Type.Optional(Type.String()), cookie: Type.Optional(Type.String()) }),
        reply: Moved,
        errors: [errors.provider_not_configured],
      },
      async ({ query, headers }) => {
        const provider = named(name)
        // Where the callback will be: the cookie has to be set there.
        if (query.asked === undefined && isOtherName(headers.host, publicUrl)) {
          const again = new URLSearchParams({ ...query, asked: '1' })
          return redirected({ location: `${publicUrl}/auth/${name}?${again.toString()}` })
        }
        return redirected(await providerLogin.start(provider, headers.cookie, query.redirect))
      },
    )

  const callbackOf = <const N extends 'idpa' | 'idpb'>(name: N, what: string) =>
    route(
      `GET /auth/${name}/callback`,
      {
        summary: `Finish the sign-in at ${what}`,
        description:
          'Errors in the fragment: `access_denied`, `account_disabled`, `account_exists`, `email_required`, `invalid_state`, `provider_error`, `registration_closed`.',
        access: 'public',
        limit: '30/min',
        query: Type.Object({ code: Parameter, state: Parameter, iss: Parameter, error: Parameter }),
        headers: Type.Object({ cookie: Type.Optional(Type.String()) }),
        reply: Moved,
        errors: [errors.provider_not_configured],
      },
      async ({ query, headers, ip, userAgent }) => {
        const returned = new URLSearchParams()
        for (const parameter of PARAMETERS) {
          const value = query[parameter]
          if (value !== undefined) returned.set(parameter, value)
        }
        const client = { ip, userAgent }
        return redirected(await providerLogin.finish(named(name), returned, headers.cookie, client))
      },
    )

  const [idpa, idpb] = ['an OpenID Connect issuer', 'an OAuth 2 provider'] as const
  return [
    startOf('idpa', idpa),
    callbackOf('idpa', idpa),
    startOf('idpb', idpb),
    callbackOf('idpb', idpb),
  ] as const
}
