import type { Static } from 'typebox'

import type { Clock } from '../../../base/clock.ts'
import { isLoopback } from '../../../base/loopback.ts'
import type { Settings } from '../../../kernel/config.ts'
import { StartError } from '../../../base/start-error.ts'
import type { AuthOptions } from '../options.ts'
import type { IdentityProvider } from './provider.ts'
import { createOauthProvider } from './oauth.ts'
import { createOidcProvider } from './oidc.ts'

const TIMEOUT_MS = 10_000

/**
 * The configured identity providers. None is called before somebody signs in with it.
 *
 * @throws StartError with the variable that is wrong and why
 */
export function createProviders(
  clock: Clock,
  { idpa, idpb }: Pick<Static<typeof AuthOptions>, 'idpa' | 'idpb'>,
  settings: Pick<Settings, 'production'>,
): readonly IdentityProvider[] {
  function addressOf(variable: string, text: string): URL {
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.hash)
      throw new StartError(`${variable}: "${text}" is not a URL like https://accounts.example`)
    // Over plain http, anybody on the way can change the answers.
    if (url.protocol === 'http:' && settings.production && !isLoopback(url.hostname))
      throw new StartError(`${variable}: "${text}" must be https in production`)
    return url
  }
  const secretOf = (variable: string, clientSecret: string | undefined): string => {
    if (!clientSecret) throw new StartError(`${variable}: not set, though a client id is: set both`)
    return clientSecret
  }

  const configured: IdentityProvider[] = []
  if (idpa?.clientId) {
    const issuer = addressOf('IDPA_ISSUER', idpa.issuer)
    configured.push(
      createOidcProvider(clock, {
        name: 'idpa',
        label: idpa.label ?? issuer.host,
        issuer,
        clientId: idpa.clientId,
        clientSecret: secretOf('IDPA_CLIENT_SECRET', idpa.clientSecret),
        timeoutMs: TIMEOUT_MS,
      }),
    )
  }
  if (idpb?.clientId) {
    const authorizeUrl = addressOf('IDPB_AUTHORIZE_URL', idpb.authorizeUrl)
    configured.push(
      createOauthProvider(clock, {
        name: 'idpb',
        label: idpb.label ?? authorizeUrl.host,
        authorizeUrl,
        tokenUrl: addressOf('IDPB_TOKEN_URL', idpb.tokenUrl),
        apiUrl: addressOf('IDPB_API_URL', idpb.apiUrl).href.replace(/\/+$/, ''),
        clientId: idpb.clientId,
        clientSecret: secretOf('IDPB_CLIENT_SECRET', idpb.clientSecret),
        timeoutMs: TIMEOUT_MS,
      }),
    )
  }
  return configured
}
