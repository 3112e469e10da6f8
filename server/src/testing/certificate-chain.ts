import { sign, type KeyObject } from 'node:crypto'

// Object identifiers of RFC 5758, section 3.2, and RFC 4055, section 5; RSA's has NULL parameters.
const ALGORITHMS: Readonly<Record<string, string>> = {
  ec: '06082a8648ce3d040302',
  rsa: '06092a864886f70d01010b0500',
}
/** id-ce-basicConstraints, critical: RFC 5280, section 4.2.1.9. */
const IS_AUTHORITY = '300f0603551d130101ff040530030101ff'

export type KeyPair = { privateKey: KeyObject; publicKey: KeyObject }
export type Issuer = { commonName: string; keys: KeyPair }

const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const nameOf = (commonName: string): Buffer =>
  der(0x30, der(0x31, der(0x30, Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from(commonName)))))

/** A UTCTime: years from 1950 to 2049. */
const timeOf = (ms: number): Buffer => {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return der(0x17, Buffer.from(digits.slice(2)))
}

/**
 * Makes a certificate, in PEM: X.509 version 3 (RFC 5280, section 4.1).
 *
 * @param options.issuer default: its own subject
 * @param options.isAuthority whether it may issue others
 * @param options.validity from and to, in milliseconds since 1970. Default: from 2020 to 2049
 */
export function issueCertificate(options: {
  subject: Issuer
  issuer?: Issuer
  isAuthority?: boolean
  validity?: readonly [from: number, to: number]
}): string {
  const { subject, issuer = subject, isAuthority = false } = options
  const [from, to] = options.validity ?? [Date.UTC(2020, 0, 1), Date.UTC(2049, 11, 31)]
  const algorithm = der(0x30, Buffer.from(ALGORITHMS[issuer.keys.privateKey.asymmetricKeyType ?? '']!, 'hex'))
  const toBeSigned = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    nameOf(issuer.commonName),
    der(0x30, timeOf(from), timeOf(to)),
    nameOf(subject.commonName),
    subject.keys.publicKey.export({ type: 'spki', format: 'der' }),
    ...(isAuthority ? [der(0xa3, der(0x30, Buffer.from(IS_AUTHORITY, 'hex')))] : []),
  )
  const signature = sign('sha256', toBeSigned, issuer.keys.privateKey)
  const certificate = der(0x30, toBeSigned, algorithm, der(0x03, Buffer.from([0]), signature))
  const lines = certificate.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n')
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
}
