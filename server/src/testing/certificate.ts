import { generateKeyPairSync } from 'node:crypto'

import { selfSignedCertificate } from '../../../sandbox/src/walletpay/certificate.ts'

/** A certificate that nobody vouches for, with its key. */
export function selfSigned(): { key: string; cert: string } {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    cert: selfSignedCertificate(keys, 'localhost'),
  }
}
