// RFC 8252, section 8.3; RFC 6761, section 6.3.
const LOOPBACK = /^((.+\.)?localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i

/** The origin of a page that this machine serves, at any port. */
export const LOOPBACK_ORIGIN = /^https?:\/\/(([\w-]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i

/** Whether a host never leaves this machine, written as in an address or without brackets: `localhost`, `127.0.0.1`, `[::1]`. */
export const isLoopback = (hostname: string): boolean => LOOPBACK.test(hostname)
