// Where the providers are by default. Nothing leaves this machine: the server is told of a proxy, which answers for them.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createProxy } from 'node:http'
import { createServer, type ServerOptions } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { before, beforeEach, describe, test } from 'node:test'

import { createBrowser, type Browser } from '../../../../testing/browser.ts'
import { selfSigned } from '../../../../testing/certificate.ts'
import { endOfSuite, someEngine, temporaryFolder, type Ending } from '../../../../testing/engines.ts'
import { startProgram } from '../../../../testing/program.ts'
import { callbackOf, CLIENT, NAMES, PUBLIC_URL, startOf } from '../../../../testing/provider-login.ts'

/** The part of Google's own answer that a client goes by: https://accounts.google.com/.well-known/openid-configuration */
const GOOGLE = {
  issuer: 'https://accounts.google.com',
  authorization_endpoint: 'https://accounts.google.com/o/oauth2/v2/auth',
  token_endpoint: 'https://oauth2.googleapis.com/token',
  jwks_uri: 'https://www.googleapis.com/oauth2/v3/certs',
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256'],
}

/** What stands at each address, as the providers' own pages have it. */
const ANSWERS: Record<string, unknown> = {
  'GET https://accounts.google.com/.well-known/openid-configuration': GOOGLE,
  'POST https://github.com/login/oauth/access_token': { access_token: 'gho_1', token_type: 'bearer' },
  'GET https://api.github.com/user': { id: 1, login: 'octo', name: 'Octo Cat' },
  'GET https://api.github.com/user/emails': [{ email: 'octo@example.com', primary: true, verified: true }],
}

/** An HTTP proxy that is itself every host that it is asked for (CONNECT, RFC 9110, section 9.3.6). */
async function startFarHosts(ending: Ending) {
  const asked: string[] = []
  const certificate: ServerOptions = selfSigned()
  const hosts = createServer(certificate, (request, response) => {
    const address = new URL(request.url!, `https://${request.headers.host}`)
    const call = `${request.method} ${address.origin}${address.pathname}`
    asked.push(call)
    const answer = ANSWERS[call]
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
    request.resume().on('end', () => response.end(JSON.stringify(answer ?? {})))
  })
  const tunnels = new Set<Socket>()
  const proxy = createProxy().on('connect', (_request, socket: Socket) => {
    tunnels.add(socket)
    socket.on('error', () => undefined).on('close', () => tunnels.delete(socket))
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    hosts.emit('connection', socket)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  ending.after(async () => {
    for (const socket of tunnels) socket.destroy()
    proxy.close()
    await once(proxy, 'close')
  })
  return {
    asked,
    variables: {
      NODE_USE_ENV_PROXY: '1',
      HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
      // The certificate is nobody's.
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
    },
  }
}

describe('an identity provider of which only the client is configured', () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let asked: string[]
    let url: string
    let browser: Browser
    before(async () => {
      const far = await startFarHosts(ending)
      asked = far.asked
      const program = startProgram(ending, ['start'], {
        folder: await temporaryFolder(ending),
        environment: {
          ...NAMES,
          ...far.variables,
          SIXWIRE_SANDBOX: 'off',
          DATABASE_URL: await engine.migratedUrl(),
          IDPA_CLIENT_ID: CLIENT.id,
          IDPA_CLIENT_SECRET: CLIENT.secret,
          IDPB_CLIENT_ID: CLIENT.id,
          IDPB_CLIENT_SECRET: CLIENT.secret,
        },
      })
      url = await program.url()
    })
    beforeEach(() => {
      asked.length = 0
      browser = createBrowser({ [PUBLIC_URL]: url })
    })

    /** Where the browser is sent to consent, and the parameters that do not differ from one time to the next. */
    async function begin(name: 'idpa' | 'idpb') {
      const started = await browser.step(startOf(name))
      assert.equal(started.status, 302)
      const { origin, pathname, searchParams } = new URL(started.headers.get('location')!)
      const { state, nonce, code_challenge: challenge, ...fixed } = Object.fromEntries(searchParams)
      return { address: origin + pathname, fixed, state, nonce, challenge }
    }

    test('is Google where it is idpa', async () => {
      const { address, fixed, state, nonce, challenge } = await begin('idpa')
      assert.deepEqual(asked, ['GET https://accounts.google.com/.well-known/openid-configuration'])
      assert.equal(address, GOOGLE.authorization_endpoint)
      assert.deepEqual(fixed, {
        response_type: 'code',
        client_id: CLIENT.id,
        redirect_uri: callbackOf('idpa'),
        scope: 'openid email profile',
        code_challenge_method: 'S256',
      })
      for (const value of [state, nonce, challenge]) assert.match(value!, /^[\w-]{43,44}$/)
    })

    test('is GitHub where it is idpb, at each of its addresses', async () => {
      const { address, fixed, state, challenge } = await begin('idpb')
      assert.deepEqual(asked, []) // nobody is asked before somebody comes back
      assert.equal(address, 'https://github.com/login/oauth/authorize')
      assert.deepEqual(fixed, {
        response_type: 'code',
        client_id: CLIENT.id,
        redirect_uri: callbackOf('idpb'),
        scope: 'read:user user:email',
        code_challenge_method: 'S256',
      })
      assert.match(challenge!, /^[\w-]{43}$/)

      const { fragment } = await browser.visit(`${callbackOf('idpb')}?code=x&state=${state}`)
      assert.deepEqual(asked, [
        'POST https://github.com/login/oauth/access_token',
        'GET https://api.github.com/user',
        'GET https://api.github.com/user/emails',
      ])
      const me = await fetch(`${url}/auth/me`, { headers: { authorization: `Bearer ${fragment['token']}` } })
      const { user } = (await me.json()) as { user: Record<string, unknown> }
      assert.deepEqual([user['email'], user['name']], ['octo@example.com', 'Octo Cat'])
    })
  })
})
