import { X509Certificate } from 'node:crypto'

const PEM = /-----BEGIN CERTIFICATE-----[\w+/=\s]+-----END CERTIFICATE-----/g
const CERTIFICATES_MAX = 10

/** Reads the certificates of a PEM file, the leaf first; undefined if there is none, or one that cannot be read. */
export function certificatesOf(pem: string): readonly [X509Certificate, ...X509Certificate[]] | undefined {
  const blocks = pem.match(PEM) ?? []
  if (blocks.length > CERTIFICATES_MAX) return undefined
  try {
    const [leaf, ...others] = blocks.map((block) => new X509Certificate(block))
    return leaf && [leaf, ...others]
  } catch {
    return undefined
  }
}

/** Whether a certificate is valid at a time, in milliseconds since 1970. */
export const isCurrent = (certificate: X509Certificate, now: number): boolean =>
  certificate.validFromDate.getTime() <= now && now <= certificate.validToDate.getTime()

/** Checks chains against root certificates. */
export type Roots = {
  /** Whether the leaf's chain of certificates ends at a root, each of them valid and a certificate authority: RFC 5280, 6.1. */
  vouchFor(leaf: X509Certificate, others: readonly X509Certificate[], now: number): boolean
}

/**
 * Reads root certificates, when they are used for the first time: Node has hundreds.
 *
 * @param pems gives one certificate each, in PEM
 */
export function rootsOf(pems: () => readonly string[]): Roots {
  let bySubject: Map<string, X509Certificate[]> | undefined
  function read(): Map<string, X509Certificate[]> {
    const roots = new Map<string, X509Certificate[]>()
    for (const pem of pems()) {
      const [root] = certificatesOf(pem) ?? []
      if (root) roots.set(root.subject, [...(roots.get(root.subject) ?? []), root])
    }
    return roots
  }

  return {
    vouchFor(leaf, others, now) {
      bySubject ??= read()
      const isIssued = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
        isCurrent(issuer, now) && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
      let current = leaf
      for (let depth = 0; depth <= CERTIFICATES_MAX; depth++) {
        if (!isCurrent(current, now)) return false
        const issued = current
        if ((bySubject.get(issued.issuer) ?? []).some((root) => isIssued(issued, root))) return true
        const issuer = others.find((other) => other.ca && other !== issued && isIssued(issued, other))
        if (!issuer) return false
        current = issuer
      }
      return false
    },
  }
}
