import { BlockList, isIP, isIPv6 } from 'node:net'

import type { FastifyRequest } from 'fastify'

import { errors } from '../base/errors.ts'
import type { Settings } from '../config.ts'
import { isForwarded } from '../http/forwarded.ts'

const hostOf = (address: string): string => new URL(address).hostname
const originOf = (address: string): string => new URL(address).origin

/**
 * Makes the check of who may call the sandbox. It holds mail with links that open accounts, and asks nobody for a
 * password, so:
 *
 * - Only this machine. A server that listens on every interface shows its sandbox to nobody else; what a proxy or
 *   a tunnel on this machine forwards does not reach `/sandbox/api`.
 * - Only under the server's own names. A web page somewhere can have its own name point to 127.0.0.1 and would then be
 *   of the sandbox's origin to a browser (DNS rebinding); but it can't have the browser send another `Host`.
 * - To `/sandbox/api`, of web pages only the sandbox's own, the application's, and others of this machine. Outside
 *   production the server lets pages of any origin read its answers; the inbox is not for any page that happens to be
 *   open. A browser names the page's origin with every request whose answer the page could read. The pages of the
 *   identity providers are not asked: people come there by links and forms of other origins, that being their purpose.
 *
 * @returns throws FORBIDDEN for a request that may not be answered
 */
export function createAccess(settings: Settings): (request: FastifyRequest) => void {
  const loopback = new BlockList()
  loopback.addSubnet('127.0.0.0', 8, 'ipv4')
  loopback.addAddress('::1', 'ipv6')

  const isLoopback = (address: string): boolean =>
    isIP(address) !== 0 && loopback.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')

  /** @param host without port, as in the address of a page */
  const isHere = (host: string): boolean =>
    host === 'localhost' || isLoopback(host.replace(/^\[(.*)\]$/, '$1'))

  const ownHost = hostOf(settings.publicUrl)
  const ownOrigins = new Set([
    originOf(settings.publicUrl),
    originOf(settings.appUrl),
    ...settings.origins.filter((one) => one !== '*'),
  ])

  function isOwnHost(host: string): boolean {
    // Without what a URL would take for a user or a path: only a host and a port are left.
    const url = `http://${host}`
    if (/[/@?#\\\s]/.test(host) || !URL.canParse(url)) return false
    const name = hostOf(url)
    return name === ownHost || isHere(name)
  }

  const isOwnOrigin = (origin: string): boolean =>
    ownOrigins.has(origin) || (URL.canParse(origin) && isHere(hostOf(origin)))

  return ({ raw, headers, routeOptions }) => {
    const caller = raw.socket.remoteAddress ?? ''
    const address = `http://localhost:${raw.socket.localPort}/sandbox`
    if (!isLoopback(caller))
      throw errors.forbidden({
        message:
          `The sandbox answers callers of its own machine only, and this one is ${caller}: ` +
          `where the server runs, open it as ${address}; in a container, inside it or with its network set to "host".`,
      })
    // A tunnel's callers are strangers, though its connection comes from this machine.
    if (routeOptions.url?.startsWith('/sandbox/api') && isForwarded(headers))
      throw errors.forbidden({ message: 'The sandbox shows its inbox to nobody who comes through a proxy.' })
    if (!isOwnHost(headers.host ?? ''))
      throw errors.forbidden({
        message: `The sandbox answers to localhost and the address in PUBLIC_URL only: open it as ${address}.`,
      })
    if (
      headers.origin !== undefined &&
      routeOptions.url?.startsWith('/sandbox/api') &&
      !isOwnOrigin(headers.origin)
    )
      throw errors.forbidden({
        message:
          'Pages of this origin may not use the sandbox: name it in SIXWIRE_ORIGINS where it is your own.',
      })
  }
}
