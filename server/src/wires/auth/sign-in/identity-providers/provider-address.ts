import { isLoopback } from '../../../../base/loopback.ts'
import { StartError } from '../../../../base/start-error.ts'

/**
 * The address of an identity provider.
 *
 * @param option where it is configured: `IDPA_ISSUER`, `auth.providers.company.issuer`
 * @throws StartError if it is none, or could be answered by anybody on the way
 */
export function addressOf(option: string, text: string, { production }: { production: boolean }): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.hash)
    throw new StartError(`${option}: "${text}" is not a URL like https://accounts.example`)
  // Over plain http, anybody on the way can change the answers.
  if (url.protocol === 'http:' && production && !isLoopback(url.hostname))
    throw new StartError(`${option}: "${text}" must be https in production`)
  return url
}
