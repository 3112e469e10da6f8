import type { IncomingHttpHeaders } from 'node:http'

// What proxies and tunnels add to a request, each its own of these.
const FORWARDING = ['x-forwarded-for', 'x-forwarded-host', 'forwarded', 'x-real-ip', 'via']

/** Whether a proxy or a tunnel says that it forwards this request: then a loopback address tells nothing of who asks. */
export const isForwarded = (headers: IncomingHttpHeaders): boolean =>
  FORWARDING.some((name) => headers[name] !== undefined)
