import { isIP } from 'node:net'

import { isLoopback } from './loopback.ts'

// RFC 6762 (.local), RFC 8375 (.home.arpa), ICANN's resolution 2024.07.29.06 (.internal).
const PRIVATE_SUFFIX = /\.(local|internal|home\.arpa)$/

/**
 * Whether a host name is safe from DNS rebinding, in which a page of the Internet resolves its own name to a private
 * address: an IP address, a name without dots (`app`, as Docker names a service), or a name that the public DNS does
 * not serve.
 *
 * @param hostname as `URL.hostname` has it
 */
export const isPrivateHost = (hostname: string): boolean =>
  isLoopback(hostname) ||
  isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0 ||
  (hostname !== '' && !hostname.includes('.')) ||
  PRIVATE_SUFFIX.test(hostname)
