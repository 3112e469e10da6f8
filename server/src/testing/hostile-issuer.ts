// An OpenID Connect issuer that signs and says whatever a test wants it to.
import { createHmac } from 'node:crypto'

import { importJWK, SignJWT, type JWK } from 'jose'
import { OAuth2Server } from 'oauth2-mock-server'

import type { Ending } from './engines.ts'
import { rsaKey } from './rsa-key.ts'

/** What one ID token says, and how it is signed. */
export type Forgery = {
  /** Over the sensible claims; undefined leaves a claim out. */
  claims?: Record<string, unknown>
  algorithm?: 'RS256' | 'HS256' | 'none'
  /** Signs with a key that the issuer never published. */
  foreignKey?: boolean
  /** Of the header; default the published key's. */
  kid?: string
  /** Over the token endpoint's answer. */
  body?: Record<string, unknown>
  status?: number
  /** What the user info says. */
  userinfo?: Record<string, unknown>
}

export type HostileIssuer = {
  url: string
  /** What the next tokens are. */
  forge(forgery: Forgery): void
  /** Over what discovery answers, from the next one on. */
  discovery(said: Record<string, unknown>): void
  /** How many calls its token endpoint had. */
  tokenRequests(): number
  /** Every long text of the token endpoint's answers: tokens, for the most part. */
  given: string[]
}

const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** @param options.metadataAt the path of its metadata, if another than the standard's */
export async function startHostileIssuer(
  ending: Ending,
  clientId: string,
  { metadataAt }: { metadataAt?: string } = {},
): Promise<HostileIssuer> {
  const server = new OAuth2Server(undefined, undefined, {
    endpoints: metadataAt === undefined ? {} : { wellKnownDocument: metadataAt },
  })
  await server.issuer.keys.add(await rsaKey('published'))
  await server.start(0, '127.0.0.1')
  ending.after(() => server.stop())
  const url = `http://127.0.0.1:${server.address().port}`
  server.issuer.url = url
  const published = server.issuer.keys.toJSON(true)[0]! as unknown as JWK
  const foreign = await rsaKey('foreign')

  let forgery: Forgery = {}
  let said: Record<string, unknown> = {}
  let tokenRequests = 0
  const given: string[] = []
  const nonces = new Map<string, string | null>()
  let lastNonce: string | null = null

  server.service.on('beforeAuthorizeRedirect', ({ url: back }: { url: URL }, request: { url: string }) => {
    lastNonce = new URL(request.url, url).searchParams.get('nonce')
    nonces.set(back.searchParams.get('code')!, lastNonce)
  })
  server.service.on('beforeWellKnownOpenIdConfiguration', (answer: { body: Record<string, unknown> }) => {
    Object.assign(answer.body, { token_endpoint_auth_methods_supported: ['client_secret_post'] }, said)
  })
  server.service.on('beforeUserinfo', (answer: { body: Record<string, unknown> }) => {
    answer.body = forgery.userinfo ?? { sub: 'somebody' }
  })

  async function idToken(nonce: string | null): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    const sensible = { iss: url, sub: 'somebody', aud: clientId, nonce, iat: now, exp: now + 600 }
    const claims = { ...sensible, ...forgery.claims }
    const header = { alg: forgery.algorithm ?? 'RS256', kid: forgery.kid ?? 'published', typ: 'JWT' }
    const unsigned = `${base64url(header)}.${base64url(claims)}`
    if (header.alg === 'none') return `${unsigned}.`
    // As an attacker would, who hopes that the public key is taken for a shared secret.
    if (header.alg === 'HS256')
      return `${unsigned}.${createHmac('sha256', JSON.stringify(server.issuer.keys.toJSON()[0])).update(unsigned).digest('base64url')}`
    const key = await importJWK(forgery.foreignKey ? foreign : published, 'RS256')
    return new SignJWT(JSON.parse(JSON.stringify(claims))).setProtectedHeader(header).sign(key)
  }

  // Signing takes a turn of the event loop and the event does not wait, so the next token is ready before.
  let prepared = ''
  server.service.on('beforeResponse', (answer: { body: Record<string, unknown>; statusCode: number }) => {
    tokenRequests++
    answer.statusCode = forgery.status ?? 200
    answer.body = { ...answer.body, id_token: prepared, ...forgery.body }
    for (const value of Object.values(answer.body))
      if (typeof value === 'string' && value.length > 20) given.push(value)
  })
  const { service } = server
  const buildToken = service.buildToken.bind(service)
  service.buildToken = async (request, expiresIn, scopes) => {
    prepared = await idToken(nonces.get(request.body.code ?? '') ?? lastNonce)
    return buildToken(request, expiresIn, scopes)
  }

  return {
    url,
    forge: (next) => void (forgery = next),
    discovery: (next) => void (said = next),
    tokenRequests: () => tokenRequests,
    given,
  }
}
