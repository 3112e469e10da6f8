import type { KeyObject, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'

import { BoundedMap } from '../../../../base/bounded-map.ts'
import type { Clock } from '../../../../base/clock.ts'
import type { Reply } from '../../../../outbound/outbound.ts'
import { certificatesOf, isCurrent, type Roots } from './paypal-chain.ts'

const HOSTS: ReadonlySet<string> = new Set([
  'api.paypal.com',
  'api-m.paypal.com',
  'api.sandbox.paypal.com',
  'api-m.sandbox.paypal.com',
])
/** Whom the certificates that sign webhooks are made out to. */
const SIGNERS = [
  'messageverificationcerts.paypal.com',
  'messageverificationcerts.sandbox.paypal.com',
  ...HOSTS,
]

const URL_MAX = 500
/** One way to write each path: percent signs, or slashes that a server drops, would be others. */
const PATH = /^(?:\/[\w.-]+)+$/
const FETCH_MS = 3_000
const FETCHES_A_MINUTE = 20
const CACHED_MAX = 20
const CACHED_MS = 6 * 3_600_000
const FAILED_MAX = 1_000
const FAILED_MS = 60_000
const RSA_BITS_MIN = 2048

/** The certificate at an address. */
export type Certificate = {
  key: KeyObject
  /**
   * Resolves if its chain ends at a trusted root, or PayPal has confirmed a signature of it; else asks PayPal. Callers that
   * come meanwhile wait for the question of the first, and ask their own only if its answer was not a yes.
   *
   * @param ask rejects unless PayPal says that the caller's webhook is its own
   */
  confirm(ask: () => Promise<void>): Promise<void>
}

/** The certificates that sign webhooks. */
export type Certificates = {
  /**
   * Reads the address of a certificate; undefined if it is not one of PayPal's: https at a host of PayPal's API, or the
   * origin of `apiBase` itself.
   */
  addressOf(text: string): URL | undefined
  /** Returns the certificate at an address, cached; undefined if there is none that can be used now. */
  get(address: URL): Promise<Certificate | undefined>
}

type Cached = {
  leaf: X509Certificate
  isTrusted: boolean
  until: number
  /** Settles, and never rejects, when PayPal has answered a question about it. */
  confirming?: Promise<void> | undefined
}

/**
 * Fetches and checks the certificates that sign webhooks. What can be made to fetch by forged webhooks is limited: failures are
 * remembered for a minute, callers share a fetch, and at most 20 are made in a minute.
 */
export function createCertificates(options: {
  /** Fetches an address without following redirects. */
  fetch: (address: URL, limitMs: number) => Promise<Reply>
  apiBase: URL
  roots: Roots
  clock: Clock
}): Certificates {
  const { fetch, apiBase, roots, clock } = options
  const certificates = new BoundedMap<string, Cached>(CACHED_MAX)
  const failures = new BoundedMap<string, number>(FAILED_MAX)
  const fetching = new Map<string, Promise<Cached | undefined>>()
  let fetches: number[] = []

  function isMadeOutTo(leaf: X509Certificate, address: URL): boolean {
    if (HOSTS.has(address.host)) return SIGNERS.some((name) => leaf.checkHost(name) !== undefined)
    const host = address.hostname.replace(/^\[(.*)\]$/, '$1')
    return (isIP(host) === 0 ? leaf.checkHost(host) : leaf.checkIP(host)) !== undefined
  }

  async function load(address: URL): Promise<Cached | undefined> {
    const reply = await fetch(address, FETCH_MS)
    const isThere = reply.kind === 'answered' && reply.status === 200
    const certificate = isThere ? read(reply.body.toString('latin1'), address) : undefined
    if (certificate) certificates.set(address.href, certificate)
    else {
      certificates.delete(address.href)
      failures.set(address.href, clock.elapsed() + FAILED_MS)
    }
    return certificate
  }

  function read(pem: string, address: URL): Cached | undefined {
    try {
      const [leaf, ...others] = certificatesOf(pem) ?? []
      if (!leaf || !isRsa(leaf.publicKey) || !isCurrent(leaf, clock.now())) return undefined
      const isTrusted = isMadeOutTo(leaf, address) && roots.vouchFor(leaf, others, clock.now())
      return { leaf, isTrusted, until: clock.elapsed() + CACHED_MS }
    } catch {
      // A certificate can be well-formed and have a key that Node cannot use.
      return undefined
    }
  }

  async function confirm(certificate: Cached, ask: () => Promise<void>): Promise<void> {
    if (certificate.confirming) await certificate.confirming
    if (certificate.isTrusted) return
    const asking = ask()
    const confirming = asking
      .then(
        () => void (certificate.isTrusted = true),
        () => undefined,
      )
      .finally(() => {
        if (certificate.confirming === confirming) certificate.confirming = undefined
      })
    certificate.confirming = confirming
    await asking
  }

  function find(address: URL): Promise<Cached | undefined> | Cached | undefined {
    const { href } = address
    const entry = certificates.get(href)
    const current = entry && isCurrent(entry.leaf, clock.now()) ? entry : undefined
    if (current && clock.elapsed() < current.until) return current
    const pending = fetching.get(href)
    if (pending) return pending
    if (clock.elapsed() < (failures.get(href) ?? 0)) return undefined
    fetches = fetches.filter((at) => at > clock.elapsed() - 60_000)
    // Forged webhooks may have used them up: the one that is known counts on.
    if (fetches.length >= FETCHES_A_MINUTE) return current
    fetches.push(clock.elapsed())
    const loading = load(address).finally(() => fetching.delete(href))
    fetching.set(href, loading)
    return loading
  }

  return {
    addressOf(text) {
      if (text.length > URL_MAX || !URL.canParse(text)) return undefined
      const url = new URL(text)
      // Else one certificate would have any number of addresses.
      if (url.username || url.password || url.search || url.hash || !PATH.test(url.pathname)) return undefined
      const isPayPals = url.protocol === 'https:' && HOSTS.has(url.host)
      return isPayPals || url.origin === apiBase.origin ? url : undefined
    },
    async get(address) {
      const certificate = await find(address)
      return certificate && { key: certificate.leaf.publicKey, confirm: (ask) => confirm(certificate, ask) }
    },
  }
}

const isRsa = ({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean =>
  asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= RSA_BITS_MIN
