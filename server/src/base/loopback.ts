import { isLoopbackAddress } from './ip-address.ts'

/** The origin of a page that this machine serves, at any port. */
export const LOOPBACK_ORIGIN = /^https?:\/\/(([\w-]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i

/**
 * Whether a host never leaves this machine, written as in a URL or without brackets: `localhost`, `127.0.0.1`, `[::1]`.
 *
 * @see RFC 6761, section 6.3, for names; RFC 8252, section 8.3, for addresses
 */
export const isLoopback = (hostname: string): boolean =>
  /^(.+\.)?localhost$/i.test(hostname) || isLoopbackAddress(hostname.replace(/^\[(.*)\]$/, '$1'))
