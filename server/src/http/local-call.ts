import type { IncomingMessage } from 'node:http'

import { isLoopbackAddress } from '../base/ip-address.ts'
import { isLoopback } from '../base/loopback.ts'

// The headers that proxies and tunnels add to a request, beside those that begin with x-forwarded-.
const FORWARDING = new Set([
  'forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-envoy-external-address',
  'x-original-host',
  'cf-connecting-ip',
  'true-client-ip',
])
const isForwarding = (name: string): boolean => name.startsWith('x-forwarded-') || FORWARDING.has(name)

/** The host name in a `Host` header, in the form of URLs; empty if there is none. */
export function hostNameOf(host = ''): string {
  const url = `http://${host}`
  // Anything but a host and a port, such as a user or a path, is refused.
  return /[/@?#\\\s]/.test(host) || !URL.canParse(url) ? '' : new URL(url).hostname
}

/** The callers and host names that count as this machine. */
export type LocalRules = {
  /** Whether a caller's IP address belongs to this machine, or is trusted like it. */
  isLocalPeer: (address: string) => boolean
  /** Whether a host name, in the form of URLs, belongs to this machine. */
  isLocalName: (hostname: string) => boolean
}

const LOOPBACK_ONLY: LocalRules = { isLocalPeer: isLoopbackAddress, isLocalName: isLoopback }

/** Why a call is not one of this machine, as the kind of calls that it belongs to; undefined if it is one. */
export function foreignCalls(
  { socket, headers }: IncomingMessage,
  { isLocalPeer, isLocalName } = LOOPBACK_ONLY,
): string | undefined {
  const peer = socket.remoteAddress ?? 'an unknown address'
  if (!isLocalPeer(peer)) return `calls from other machines, such as this from ${peer}`
  // They come from this machine, but the original sender may be anybody.
  if (Object.keys(headers).some(isForwarding)) return 'calls that a proxy or a tunnel forwards'
  // A tunnel that adds no headers; or a web page whose own name points to 127.0.0.1 (DNS rebinding).
  if (!isLocalName(hostNameOf(headers.host))) return 'calls to a host name other than localhost'
  return undefined
}

/** Whether a call comes from this machine to a loopback name, without a proxy between. */
export const isLocalCall = (request: IncomingMessage): boolean => foreignCalls(request) === undefined
