import { BoundedMap } from '../../../base/bounded-map.ts'
import type { Clock } from '../../../base/clock.ts'
import { parseStrictJson } from '../../../base/json.ts'
import { createSemaphore } from '../../../base/semaphore.ts'
import { createOutbound, type OutboundOptions, type Reply } from '../../../outbound/outbound.ts'

const LIMIT_MS = 5_000
const MAX_BYTES = 262_144
const MAX_DEPTH = 32
const REDIRECTS = 3
/** A data: URI is longer than its content. */
const MAX_URI = 3 * MAX_BYTES
/** What was fetched, or could not be, is not fetched again for this time. */
const CACHE_MS = 60_000
const CACHE_MAX = 100
const FETCHES = { limit: 16, queue: 100, retryAfter: 5 }

const REDIRECT = /^30[12378]$/
/** A content identifier, in base58 or in a base that has letters and digits, and a path. https://docs.ipfs.tech/how-to/address-ipfs-on-web/ */
const IPFS = /^ipfs:\/\/(?:ipfs\/)?([A-Za-z0-9]{46,128})((?:\/[^?#\\]*)?)$/i
/** The id of a transaction, and a path. https://docs.arweave.org/developers/arweave-node-server/http-api#transaction-format */
const ARWEAVE = /^ar:\/\/([\w-]{43})((?:\/[^?#\\]*)?)$/i

/** Addresses over http or https under which contents are found by their ids. */
export type Gateways = { ipfs: string; arweave: string }

export type Metadata = Record<string, unknown>

export type MetadataReader = {
  /**
   * Reads the metadata of a token: of a data:, ipfs://, ar:// or https:// address, at most 256 KiB, within 5 seconds, and never from
   * a private address. Never rejects.
   *
   * @returns null if it cannot be had, or is no JSON object
   */
  read(uri: string): Promise<Metadata | null>
}

/** @param options.outbound for tests: how addresses are found and which are refused */
export function createMetadata(options: {
  clock: Clock
  gateways: Gateways
  outbound?: OutboundOptions
}): MetadataReader {
  const { clock, gateways } = options
  const client = { clock, maxBytes: MAX_BYTES, headers: { accept: 'application/json, */*;q=0.5' } }
  const open = createOutbound({ ...client, refusePrivate: true, ...options.outbound })
  // The operator's own gateway may be on a private address. Where it redirects to may not.
  const gateway = createOutbound({ ...client, name: 'the gateway' })
  const fetches = createSemaphore(FETCHES)
  const cache = new BoundedMap<string, { text: Promise<string | undefined>; until: number }>(CACHE_MAX)

  async function fetchText(address: string, isGateway: boolean): Promise<string | undefined> {
    const deadline = clock.elapsed() + LIMIT_MS
    let url = new URL(address)
    for (let hops = 0; hops <= REDIRECTS; hops++) {
      const isOwn = isGateway && hops === 0
      if (!isOwn && url.protocol !== 'https:') return undefined
      const reply: Reply = await (isOwn ? gateway : open).call(url, {
        limitMs: Math.max(1, deadline - clock.elapsed()),
      })
      if (reply.kind !== 'answered') return undefined
      if (reply.status === 200) return reply.body.toString('utf8')
      const { location } = reply.headers
      if (!REDIRECT.test(String(reply.status)) || location === undefined || !URL.canParse(location, url))
        return undefined
      url = new URL(location, url)
    }
    return undefined
  }

  /** The text at an address of another server; undefined if it cannot be had. */
  async function textAt(uri: string): Promise<string | undefined> {
    const atGateway =
      gatewayAddress(gateways.ipfs, IPFS.exec(uri)) ?? gatewayAddress(gateways.arweave, ARWEAVE.exec(uri))
    const address = atGateway ?? (/^https:\/\//i.test(uri) && URL.canParse(uri) ? uri : undefined)
    if (address === undefined) return undefined
    const promise = cache.get(address)
    if (promise && clock.elapsed() < promise.until) return promise.text
    const text = fetches.run(() => fetchText(address, atGateway !== undefined)).catch(() => undefined)
    cache.delete(address)
    cache.set(address, { text, until: clock.elapsed() + CACHE_MS })
    return text
  }

  return {
    async read(uri) {
      if (uri.length > MAX_URI) return null
      const text = /^data:/i.test(uri) ? dataIn(uri) : await textAt(uri)
      return text === undefined ? null : objectIn(text)
    },
  }
}

/** The address of an id and a path at a gateway; undefined if there is none. */
function gatewayAddress(gateway: string, match: RegExpExecArray | null): string | undefined {
  const [, id, path = ''] = match ?? []
  if (id === undefined) return undefined
  const root = new URL(gateway.endsWith('/') ? gateway : `${gateway}/`).href
  if (!URL.canParse(`${root}${id}${path}`)) return undefined
  const { href } = new URL(`${root}${id}${path}`)
  // A path of dots, encoded or not, leads to something else at the gateway.
  return href.startsWith(`${root}${id}`) && !/%2f|%5c/i.test(path) ? href : undefined
}

/**
 * The content of a data: URI. Many contracts write `;utf8` and leave characters unencoded.
 *
 * @see https://www.rfc-editor.org/rfc/rfc2397
 */
function dataIn(uri: string): string | undefined {
  const comma = uri.indexOf(',')
  if (comma === -1) return undefined
  const isBase64 = /;\s*base64\s*$/i.test(uri.slice(0, comma))
  const content = uri.slice(comma + 1)
  const plainText = percentDecoded(content)
  const text = isBase64 ? Buffer.from(plainText, 'base64').toString('utf8') : plainText
  return Buffer.byteLength(text) <= MAX_BYTES ? text : undefined
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A percent sign that stands for itself.
    return text
  }
}

/** A JSON object that is safe to answer: what parsers disagree about is none. */
function objectIn(text: string): Metadata | null {
  try {
    const value = parseStrictJson(text.replace(/^\ufeff/, ''), { maxDepth: MAX_DEPTH })
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Metadata) : null
  } catch {
    return null
  }
}
