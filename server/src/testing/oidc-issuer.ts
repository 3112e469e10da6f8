// A real OpenID Connect issuer in the test's process: certified software, with its own pages for login and consent.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

import Provider from 'oidc-provider'

import type { Browser, BrowserPage } from './browser.ts'
import type { Ending } from './engines.ts'
import { CLIENT } from './provider-login.ts'
import { rsaKey } from './rsa-key.ts'

/** Apple writes booleans as text. */
export type Claims = { email?: string; email_verified?: boolean | 'true' | 'false'; name?: string }

export type OidcIssuer = {
  url: string
  /** What is known of each login; others have no address. */
  people: Map<string, Claims>
  /** How often each of its addresses was asked. */
  asked: Map<string, number>
  /** Goes through login and consent, or says no to it; the browser came from a start route. */
  consent(
    browser: Browser,
    page: BrowserPage,
    login: string,
    options?: { stopAt?: string; deny?: boolean },
  ): Promise<BrowserPage>
  /** Refuses connections until `start`. */
  stop(): Promise<void>
  start(): Promise<void>
}

export type OidcIssuerOptions = {
  redirectUris: string[]
  /** Whether the ID token holds the address; by default only the user info does. */
  claimsInIdToken?: boolean
  clientId?: string
  /** Whether a client secret is right, for an issuer whose clients have no fixed one: it has to come in the form, and the claims are in the ID token. */
  acceptsSecret?: (secret: string) => Promise<boolean>
}

export async function startOidcIssuer(ending: Ending, options: OidcIssuerOptions): Promise<OidcIssuer> {
  const { redirectUris, clientId = CLIENT.id, acceptsSecret } = options
  const people = new Map<string, Claims>()
  const asked = new Map<string, number>()
  const server = createServer()
  async function listen(port: number): Promise<number> {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  async function stop(): Promise<void> {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }

  const port = await listen(0)
  ending.after(stop)
  const url = `http://127.0.0.1:${port}`
  const provider = new Provider(url, {
    clients: [
      {
        client_id: clientId,
        client_secret: CLIENT.secret,
        redirect_uris: redirectUris,
        ...(acceptsSecret && { token_endpoint_auth_method: 'client_secret_post' }),
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    jwks: { keys: [await rsaKey('first')] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    conformIdTokenClaims: options.claimsInIdToken !== true,
    cookies: { keys: ['a key of the tests'] },
    pkce: { required: () => true },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub, ...people.get(sub) }) }),
  })
  const answer = provider.callback()
  server.on('request', (request, response) => {
    const path = request.url!.split('?', 1)[0]!
    asked.set(path, (asked.get(path) ?? 0) + 1)
    void serve(request, response)
  })
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (acceptsSecret && request.url === '/token') {
      const form = Object.fromEntries(new URLSearchParams(await text(request)))
      const client_secret = (await acceptsSecret(form['client_secret'] ?? '')) ? CLIENT.secret : 'wrong'
      // Instead of the body, which is read now.
      Object.assign(request, { body: { ...form, client_secret } })
    }
    await answer(request, response)
  }

  return {
    url,
    people,
    asked,
    stop,
    start: async () => void (await listen(port)),
    async consent(browser, page, login, { stopAt, deny = false } = {}) {
      const to = stopAt === undefined ? {} : { stopAt }
      for (let at = page; ;) {
        if (!at.url.pathname.startsWith('/interaction/') || at.url.origin !== url) return at
        if (deny) return browser.visit(`${at.url.href}/abort`, to)
        const prompt = /name="prompt" value="(\w+)"/.exec(at.text)?.[1]
        if (prompt === undefined) throw new Error(`the issuer shows no form at ${at.url.href}: ${at.text}`)
        at = await browser.submit(at.url.href, { prompt, login, password: 'any' }, to)
      }
    },
  }
}
