import { deriveKey } from '../../server/src/base/crypto.ts'
import type { Settings } from '../../server/src/kernel/config/config.ts'

// Below the ephemeral ports of the systems: from 32768 on Linux, from 49152 elsewhere.
const FIRST_PORT = 20_000
const PORTS = 12_000

/**
 * The port of a stand-in: the same at every start, and another one for each application and purpose. It needs no table,
 * because none exists before the first start. Another program may listen there.
 *
 * @param purpose `mail`, or the name of a chain
 */
export function stablePort(
  { secret, databaseUrl }: Pick<Settings, 'secret' | 'databaseUrl'>,
  purpose: string,
): number {
  const mac = deriveKey(secret, 'sandbox.ports').mac(`${purpose} ${databaseUrl}`)
  return FIRST_PORT + (Buffer.from(mac, 'base64url').readUInt32BE() % PORTS)
}
