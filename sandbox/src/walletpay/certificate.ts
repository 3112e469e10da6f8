import { sign, type KeyObject } from 'node:crypto'

// Object identifiers of RFC 5758, section 3.2, and RFC 4055, section 5; RSA's has NULL parameters.
const ALGORITHMS: Readonly<Record<string, string>> = {
  ec: '06082a8648ce3d040302',
  rsa: '06092a864886f70d01010b0500',
}

/**
 * A certificate signed by its own key, in PEM: X.509 version 1 (RFC 5280, section 4.1).
 *
 * @param keys an EC or RSA key pair
 */
export function selfSignedCertificate(
  { privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject },
  commonName: string,
): string {
  const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
    const content = Buffer.concat(parts)
    const { length } = content
    const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
    return Buffer.concat([Buffer.from([tag, ...size]), content])
  }
  const algorithm = der(0x30, Buffer.from(ALGORITHMS[privateKey.asymmetricKeyType ?? '']!, 'hex'))
  const nameParts = der(0x30, Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from(commonName)))
  const name = der(0x30, der(0x31, nameParts))
  const time = (text: string): Buffer => der(0x17, Buffer.from(text))
  const toBeSigned = der(
    0x30,
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    der(0x30, time('200101000000Z'), time('491231235959Z')),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  )
  const signature = sign('sha256', toBeSigned, privateKey)
  const certificate = der(0x30, toBeSigned, algorithm, der(0x03, Buffer.from([0]), signature))
  const lines = certificate.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n')
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
}
