import type * as openidClient from 'openid-client'
import type { ClientAuth, Configuration, CustomFetch } from 'openid-client'

import type { Clock } from '../../../../base/clock.ts'
import type { Outbound, OutboundMethod } from '../../../../outbound/outbound.ts'
import { IdentityProviderFault } from './identity-provider.ts'

const CACHED_MS = 3_600_000

/** Where an issuer describes itself, and as whom this server calls it. */
export type Discovery = {
  /** Its metadata are below, at `/.well-known/openid-configuration`. */
  issuer: URL
  clientId: string
  /**
   * Of an issuer with tenants, such as Microsoft's: the address of Microsoft that `openid-client` knows to be one, and what
   * the metadata at `issuer` must have instead of it, where `{tenantid}` stands for the claim `tid` of the ID token.
   */
  tenants?: { knownAs: URL; issuer: string }
}

type Credentials = { openid: typeof openidClient; clientAuth: ClientAuth }

/**
 * Reads the metadata of an issuer, and keeps them for an hour. A failure is not kept: the next sign-in asks again.
 *
 * @param load what the first call loads
 */
export function cachedDiscovery(
  clock: Clock,
  outbound: Outbound,
  discovery: Discovery,
  load: () => Promise<Credentials>,
): () => Promise<Configuration> {
  let cache: { configuration: Promise<Configuration>; until: number } | undefined
  return () => {
    if (cache && cache.until > clock.now()) return cache.configuration
    const next = { configuration: discover(outbound, discovery, load), until: clock.now() + CACHED_MS }
    next.configuration.catch(() => {
      if (cache === next) cache = undefined
    })
    cache = next
    return next.configuration
  }
}

async function discover(
  outbound: Outbound,
  { issuer, clientId, tenants }: Discovery,
  load: () => Promise<Credentials>,
): Promise<Configuration> {
  const { openid, clientAuth } = await load()
  // oxlint-disable-next-line typescript/no-deprecated -- deprecated as a warning only; provider-address.ts decides where http is allowed
  const plain = issuer.protocol === 'http:' ? [openid.allowInsecureRequests] : []
  const fetch = fetchBy(outbound)
  const configuration = await openid.discovery(tenants?.knownAs ?? issuer, clientId, undefined, clientAuth, {
    execute: [openid.enableNonRepudiationChecks, ...plain],
    [openid.customFetch]: tenants
      ? (address, options) => fetch(address.replace(tenants.knownAs.href, issuer.href), options)
      : fetch,
  })
  // Of an issuer with tenants openid-client takes any metadata: https://github.com/panva/openid-client, "handleEntraId".
  if (tenants && configuration.serverMetadata().issuer !== tenants.issuer)
    throw new IdentityProviderFault('the metadata are of another issuer')
  return configuration
}

/** What openid-client calls the issuer by. Its own signal is left aside: a call of ours ends by its own limit. */
const fetchBy =
  (outbound: Outbound): CustomFetch =>
  async (address, { method, headers, body }) => {
    const reply = await outbound.call(address, {
      method: method as OutboundMethod,
      headers,
      ...(body !== undefined && body !== null && { body: contentOf(body) }),
    })
    if (reply.kind !== 'answered') throw new IdentityProviderFault(reply.reason)
    const responseHeaders = new Headers()
    for (const [name, value] of Object.entries(reply.headers))
      for (const one of [value ?? []].flat()) responseHeaders.append(name, one)
    // Responses of these statuses can't be made with a body, not even an empty one.
    const content = [204, 205, 304].includes(reply.status) ? null : new Uint8Array(reply.body)
    return new Response(content, { status: reply.status, headers: responseHeaders })
  }

/** It sends forms, as text or as parameters. */
function contentOf(body: unknown): string {
  if (typeof body === 'string' || body instanceof URLSearchParams) return body.toString()
  throw new TypeError('openid-client sends a body that is neither text nor a form')
}
