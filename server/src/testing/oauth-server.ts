// An OAuth 2 server in GitHub's shape: it answers what GitHub answers, failures with 200 among them.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { sha256 } from '../base/crypto.ts'
import { createServer } from '../base/node-http.ts'
import type { Ending } from './engines.ts'
import { CLIENT } from './provider-login.ts'

export type OAuthPerson = {
  /** What `GET /user` answers. */
  user: unknown
  /** What `GET /user/emails` answers; a number for a status without a list. */
  emails: { email: string; primary: boolean; verified: boolean }[] | number
}

export type OauthServer = {
  /** The environment of a server that signs in here. */
  variables: Record<string, string>
  /** Who consents next. */
  person(person: OAuthPerson): void
  /** What the next calls of an address answer instead. */
  answer(path: string, instead: { status: number; body: string } | undefined): void
  tokenRequests(): number
  /** Codes and tokens that it gave out. */
  given: string[]
}

const text = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

export async function startOauthServer(ending: Ending, redirectUri: string): Promise<OauthServer> {
  let next: OAuthPerson = { user: { id: 1 }, emails: [] }
  let tokenRequests = 0
  const given: string[] = []
  const instead = new Map<string, { status: number; body: string }>()
  const codes = new Map<string, { challenge: string; person: OAuthPerson }>()
  const tokens = new Map<string, OAuthPerson>()
  const secret = (): string => {
    const made = randomBytes(20).toString('hex')
    given.push(made)
    return made
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const url = new URL(request.url!, 'http://here')
    const json = (status: number, body: unknown) =>
      response
        .writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
        .end(JSON.stringify(body))
    const other = instead.get(url.pathname)
    const body = await text(request)
    if (url.pathname === '/login/oauth/access_token') tokenRequests++
    if (other) return response.writeHead(other.status, { 'content-type': 'application/json' }).end(other.body)

    if (url.pathname === '/login/oauth/authorize') {
      const asked = url.searchParams
      if (asked.get('client_id') !== CLIENT.id || asked.get('redirect_uri') !== redirectUri)
        return response.writeHead(404).end('no such application')
      if (asked.get('code_challenge_method') !== 'S256') return response.writeHead(400).end('no PKCE')
      const code = secret()
      codes.set(code, { challenge: asked.get('code_challenge')!, person: next })
      const back = new URL(redirectUri)
      back.searchParams.set('code', code)
      back.searchParams.set('state', asked.get('state') ?? '')
      return response.writeHead(302, { location: back.href }).end()
    }
    if (url.pathname === '/login/oauth/access_token') {
      const asked = new URLSearchParams(body)
      if (asked.get('client_id') !== CLIENT.id || asked.get('client_secret') !== CLIENT.secret)
        return json(200, { error: 'incorrect_client_credentials' })
      const code = codes.get(asked.get('code') ?? '')
      codes.delete(asked.get('code') ?? '')
      const challenge = sha256(asked.get('code_verifier') ?? '')
      if (!code || code.challenge !== challenge || asked.get('redirect_uri') !== redirectUri)
        return json(200, { error: 'bad_verification_code' })
      const token = secret()
      tokens.set(token, code.person)
      return json(200, { access_token: token, token_type: 'bearer', scope: 'read:user,user:email' })
    }
    const person = tokens.get(request.headers.authorization?.replace(/^Bearer /, '') ?? '')
    // GitHub refuses calls that don't say who calls.
    if (!person || !request.headers['user-agent']) return json(401, { message: 'Bad credentials' })
    if (url.pathname === '/api/user') return json(200, person.user)
    if (url.pathname === '/api/user/emails')
      return typeof person.emails === 'number'
        ? json(person.emails, { message: 'no' })
        : json(200, person.emails)
    return json(404, { message: 'Not Found' })
  }
  const server = createServer((request, response) => void serve(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ending.after(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    variables: {
      IDPB_CLIENT_ID: CLIENT.id,
      IDPB_CLIENT_SECRET: CLIENT.secret,
      IDPB_AUTHORIZE_URL: `${base}/login/oauth/authorize`,
      IDPB_TOKEN_URL: `${base}/login/oauth/access_token`,
      IDPB_API_URL: `${base}/api`,
    },
    person: (person) => void (next = person),
    answer: (path, other) => void (other ? instead.set(path, other) : instead.delete(path)),
    tokenRequests: () => tokenRequests,
    given,
  }
}
