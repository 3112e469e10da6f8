import type { FastifyRequest } from 'fastify'

import type { Logger } from '../../server/src/base/logger.ts'
import { errors } from '../../server/src/base/errors.ts'
import { isLoopback } from '../../server/src/base/loopback.ts'
import { isLoopbackAddress, networkFilter } from '../../server/src/base/ip-address.ts'
import { isPrivateHost } from '../../server/src/base/private-host.ts'
import type { Settings } from '../../server/src/kernel/config/config.ts'
import { foreignCalls, hostNameOf, type LocalRules } from '../../server/src/http/local-call.ts'

const hostOf = (address: string): string => new URL(address).hostname
const originOf = (address: string): string => new URL(address).origin

/** Without networks callers of loopback addresses alone; with them, also those of the networks, by private names. */
function rulesOf(networks: readonly string[]): LocalRules {
  const isInNetwork = networkFilter(networks)
  return {
    isLocalPeer: (address) => isLoopbackAddress(address) || isInNetwork(address),
    isLocalName: networks.length > 0 ? isPrivateHost : isLoopback,
  }
}

/**
 * Makes the check of who may call the sandbox. It shows mail with links that open accounts, and signs anybody in as
 * anybody, administrators included. So it answers:
 *
 * - Calls from this machine to a loopback name that nobody forwards. `SIXWIRE_SANDBOX_HOST` adds networks, whose callers
 *   count as this machine, also under IP addresses and names that the public DNS does not have; and host names: every
 *   call to such a name is answered, forwarded or not.
 * - To `/sandbox/api`, of web pages only the sandbox's own, the application's, and others of this machine: no other page
 *   that happens to be open may read the inbox. A browser sends the page's origin with every request whose answer the
 *   page could read. The pages of the identity providers are not checked: links and forms of other origins lead to them.
 *
 * @returns a function that throws FORBIDDEN if the request may not be answered
 */
export function createAccess(settings: Settings): (request: FastifyRequest) => void {
  const { names, networks } = settings.sandboxHost
  const rules = rulesOf(networks)
  const ownOrigins = new Set([
    originOf(settings.publicUrl),
    originOf(settings.appUrl),
    ...settings.origins.filter((one) => one !== '*'),
  ])
  const isOwnName = (hostname: string): boolean => isLoopback(hostname) || names.includes(hostname)

  /** A page of the host that is called is the sandbox's own, or of another port of the same machine. */
  const isOwnOrigin = (origin: string, host: string): boolean =>
    ownOrigins.has(origin) || (URL.canParse(origin) && (isOwnName(hostOf(origin)) || hostOf(origin) === host))

  return ({ raw, headers, routeOptions }) => {
    const host = hostNameOf(headers.host)
    const foreign = names.includes(host) ? undefined : foreignCalls(raw, rules)
    if (foreign !== undefined)
      throw errors.forbidden({
        message:
          `The sandbox does not answer ${foreign}: open http://localhost:${raw.socket.localPort}/sandbox ` +
          'on the machine where the server runs, or set SIXWIRE_SANDBOX_HOST to the host name or network to open it to.',
      })
    if (
      headers.origin !== undefined &&
      routeOptions.url?.startsWith('/sandbox/api') &&
      !isOwnOrigin(headers.origin, host)
    )
      throw errors.forbidden({
        message:
          'Pages of this origin may not use the sandbox: if it is your own, add it to SIXWIRE_ORIGINS.',
      })
  }
}

/** Logs at the start to whom the sandbox is open. */
export function logAccess(
  { publicUrl, sandboxHost: { names, networks }, sandboxUrl }: Settings,
  log: Logger,
): void {
  const callers = [
    ...(names.length > 0 ? [`everybody who reaches this server under the name ${names.join(' or ')}`] : []),
    ...(networks.length > 0 ? [`every machine and container in ${networks.join(' and ')}`] : []),
  ]
  if (callers.length > 0)
    log.warn(
      `SIXWIRE_SANDBOX_HOST: ${callers.join(', and ')} can read the mail of the sandbox and sign in as anybody, ` +
        'administrators included',
    )
  if (!sandboxUrl.startsWith(publicUrl))
    log.info(
      `PUBLIC_URL: the sandbox does not answer at ${publicUrl}: open ${sandboxUrl} on this machine, ` +
        'or set SIXWIRE_SANDBOX_HOST to open it to others',
    )
}
