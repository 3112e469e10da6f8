import type { IncomingMessage } from 'node:http'

import { isLoopbackAddress } from '../base/ip-address.ts'
import { isLoopback } from '../base/loopback.ts'

// What proxies and tunnels add to a request, each its own of these, beside those that begin with x-forwarded-.
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
  // Without what a URL would take for a user or a path: only a host and a port are left.
  return /[/@?#\\\s]/.test(host) || !URL.canParse(url) ? '' : new URL(url).hostname
}

/** Why a call is not one of this machine, as the calls it is one of; undefined if it is one. */
export function foreignCalls({ socket, headers }: IncomingMessage): string | undefined {
  const peer = socket.remoteAddress ?? 'an unknown address'
  if (!isLoopbackAddress(peer)) return `calls from other machines, such as this from ${peer}`
  // They come from this machine, and from anybody.
  if (Object.keys(headers).some(isForwarding)) return 'calls that a proxy or a tunnel forwards'
  // A tunnel that adds no headers; or a web page whose own name points to 127.0.0.1 (DNS rebinding).
  if (!isLoopback(hostNameOf(headers.host))) return 'calls to a host name other than localhost'
  return undefined
}

/** Whether a call comes from this machine, to a loopback name, and nobody forwarded it. */
export const isLocalCall = (request: IncomingMessage): boolean => foreignCalls(request) === undefined
