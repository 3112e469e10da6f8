import type { FastifyBaseLogger, FastifyRequest } from 'fastify'

import { errors } from '../base/errors.ts'
import { isLoopback } from '../base/loopback.ts'
import type { Settings } from '../kernel/config.ts'
import { foreignCalls, hostNameOf } from '../http/local-call.ts'

const hostOf = (address: string): string => new URL(address).hostname
const originOf = (address: string): string => new URL(address).origin

/**
 * Makes the check of who may call the sandbox. It shows mail with links that open accounts, and signs anybody in as
 * anybody, administrators included. So it answers:
 *
 * - Calls of this machine, under a loopback name, that nobody forwards. `SIXWIRE_SANDBOX_HOST` opens one more host name:
 *   every call to that name is answered, forwarded or not.
 * - To `/sandbox/api`, of web pages only the sandbox's own, the application's, and others of this machine: the inbox is
 *   not for any page that happens to be open. A browser names the page's origin with every request whose answer the page could read. The pages of the
 *   identity providers are not asked: people come there by links and forms of other origins, that being their purpose.
 *
 * @returns a function that throws FORBIDDEN if the request may not be answered
 */
export function createAccess(settings: Settings): (request: FastifyRequest) => void {
  const ownOrigins = new Set([
    originOf(settings.publicUrl),
    originOf(settings.appUrl),
    ...settings.origins.filter((one) => one !== '*'),
  ])
  const isOwnName = (hostName: string): boolean => isLoopback(hostName) || hostName === settings.sandboxHost

  const isOwnOrigin = (origin: string): boolean =>
    ownOrigins.has(origin) || (URL.canParse(origin) && isOwnName(hostOf(origin)))

  return ({ raw, headers, routeOptions }) => {
    const foreign = hostNameOf(headers.host) === settings.sandboxHost ? undefined : foreignCalls(raw)
    if (foreign !== undefined)
      throw errors.forbidden({
        message:
          `The sandbox does not answer ${foreign}: open http://localhost:${raw.socket.localPort}/sandbox ` +
          'on the machine where the server runs, or set SIXWIRE_SANDBOX_HOST to the host name to open it under.',
      })
    if (
      headers.origin !== undefined &&
      routeOptions.url?.startsWith('/sandbox/api') &&
      !isOwnOrigin(headers.origin)
    )
      throw errors.forbidden({
        message:
          'Pages of this origin may not use the sandbox: if it is your own, add it to SIXWIRE_ORIGINS.',
      })
  }
}

/** Logs at the start what `PUBLIC_URL` and `SIXWIRE_SANDBOX_HOST` mean for the sandbox. */
export function logAccess({ publicUrl, sandboxHost, sandboxUrl }: Settings, log: FastifyBaseLogger): void {
  if (sandboxHost !== undefined)
    log.warn(
      `SIXWIRE_SANDBOX_HOST: everybody who reaches this server under the name ${sandboxHost} reads the mail of the ` +
        'sandbox and signs in as anybody, administrators included',
    )
  if (!sandboxUrl.startsWith(publicUrl))
    log.info(
      `PUBLIC_URL: the sandbox does not answer at ${publicUrl}: open ${sandboxUrl} on this machine, ` +
        'or set SIXWIRE_SANDBOX_HOST to open it there to everybody',
    )
}
