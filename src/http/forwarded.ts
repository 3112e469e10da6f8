import type { IncomingHttpHeaders } from 'node:http'

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

/** Whether a proxy or a tunnel says that it forwards this request: then a loopback address tells nothing of who asks. */
export const isForwarded = (headers: IncomingHttpHeaders): boolean =>
  Object.keys(headers).some((name) => name.startsWith('x-forwarded-') || FORWARDING.has(name))
