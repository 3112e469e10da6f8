import type { Clock } from '../../../../base/clock.ts'
import { invalid } from '../../../../base/errors.ts'
import { StartError } from '../../../../base/start-error.ts'
import type { Settings } from '../../../../kernel/config/config.ts'
import { authErrors } from '../../errors.ts'
import { createOauthProvider } from './oauth.ts'
import { EMAIL_AND_PROFILE, TIMEOUT_MS } from './oidc.ts'
import { clientSecretAuth, createOpenidProvider } from './openid-connect.ts'
import { addressOf } from './provider-address.ts'
import { openEntry, type ProviderEntry } from './provider-entry.ts'
import type { IdentityProvider } from './identity-provider.ts'

/** A provider is used if its `clientId` is set. */
type BuiltIn = { clientId?: string; clientSecret?: string; label?: string }

/** The options of the wire that configure identity providers. */
type ProviderOptions = {
  idpa?: BuiltIn & { issuer: string }
  idpb?: BuiltIn & { authorizeUrl: string; tokenUrl: string; apiUrl: string }
  providers?: Record<string, ProviderEntry>
}

/**
 * The configured identity providers. None is called before somebody signs in with it.
 *
 * @throws StartError with the variable or option that is wrong and why
 */
export function createProviders(
  { clock, settings: { production } }: { clock: Clock; settings: Pick<Settings, 'production'> },
  options: ProviderOptions,
): readonly IdentityProvider[] {
  const others = Object.entries(options.providers ?? {}).map(([name, entry]) =>
    openEntry({ entry, place: { name, option: `auth.providers.${name}`, clock, production } }),
  )
  return [...idpaOf(clock, options, production), ...idpbOf(clock, options, production), ...others]
}

/**
 * The issuer of the identities of a provider.
 *
 * @param name `idpa`, `idpb`, or its name in `auth.providers`
 * @throws VALIDATION_ERROR if none is configured; PROVIDER_ERROR if it has more than one, or cannot be reached
 */
export async function issuerNamed(providers: readonly IdentityProvider[], name: string): Promise<string> {
  const provider = providers.find((one) => one.name === name)
  if (!provider)
    throw invalid({
      path: '/body/identities',
      message: `no provider "${name}" is configured: configure it, or send its issuer`,
    })
  try {
    return await provider.issuer()
  } catch (cause) {
    throw authErrors.provider_error({
      message: `The issuer of the provider "${name}" could not be found (${(cause as Error).message}): send the issuer in place of the provider.`,
      cause,
    })
  }
}

function idpaOf(clock: Clock, { idpa }: ProviderOptions, production: boolean): IdentityProvider[] {
  if (!idpa?.clientId) return []
  const issuer = addressOf('IDPA_ISSUER', idpa.issuer, { production })
  return [
    createOpenidProvider(
      { clock },
      {
        name: 'idpa',
        label: idpa.label ?? issuer.host,
        issuer,
        clientId: idpa.clientId,
        clientAuth: clientSecretAuth(secretOf('IDPA_CLIENT_SECRET', idpa.clientSecret)),
        scopes: EMAIL_AND_PROFILE,
        timeoutMs: TIMEOUT_MS,
      },
    ),
  ]
}

function idpbOf(clock: Clock, { idpb }: ProviderOptions, production: boolean): IdentityProvider[] {
  if (!idpb?.clientId) return []
  const authorizeUrl = addressOf('IDPB_AUTHORIZE_URL', idpb.authorizeUrl, { production })
  return [
    createOauthProvider(
      { clock },
      {
        name: 'idpb',
        label: idpb.label ?? authorizeUrl.host,
        authorizeUrl,
        tokenUrl: addressOf('IDPB_TOKEN_URL', idpb.tokenUrl, { production }),
        apiUrl: addressOf('IDPB_API_URL', idpb.apiUrl, { production }).href.replace(/\/+$/, ''),
        clientId: idpb.clientId,
        clientSecret: secretOf('IDPB_CLIENT_SECRET', idpb.clientSecret),
        timeoutMs: TIMEOUT_MS,
      },
    ),
  ]
}

function secretOf(variable: string, clientSecret: string | undefined): string {
  if (!clientSecret) throw new StartError(`${variable}: not set, though a client id is: set both`)
  return clientSecret
}
