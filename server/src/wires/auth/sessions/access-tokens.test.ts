import assert from 'node:assert/strict'
import { createHmac, createPublicKey } from 'node:crypto'
import { describe, test } from 'node:test'

import fc from 'fast-check'
import {
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  generateKeyPair,
  importJWK,
  jwtVerify,
  SignJWT,
  type JWK,
} from 'jose'

import { deriveKey, randomToken } from '../../../base/crypto.ts'
import { newId } from '../../../base/ids.ts'
import { sql } from '../../../db/sql.ts'
import { startApp, type TestApp, type TestClock } from '../../../testing/app.ts'
import { eachEngine, someEngine, testOnOne } from '../../../testing/engines.ts'
import { freePort } from '../../../testing/free-port.ts'
import { appForAll, login, me, refresh, send, startReplicas } from '../../../testing/auth.ts'

const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The server's own key, as only the operator's secret opens it. */
async function ownKey({ app }: TestApp) {
  const row = await app.db.get<{ kid: string; public_jwk: string; private_jwk: string }>(
    sql`select kid, public_jwk, private_jwk from auth_signing_keys`,
  )
  const privateJwk = deriveKey(app.settings.secret, 'signing-key').open(row!.private_jwk)
  return {
    kid: row!.kid,
    publicJwk: JSON.parse(row!.public_jwk) as JWK,
    privateKey: await importJWK(JSON.parse(privateJwk) as JWK, 'EdDSA'),
  }
}

/** The issuer of tokens where `PUBLIC_URL` is not set. */
async function installationId({ app }: TestApp): Promise<string> {
  const row = await app.db.get<{ issuer: string }>(
    sql`select issuer from auth_issuers where installation = 1`,
  )
  return row!.issuer
}

describe('access tokens', () => {
  someEngine((engine) => {
    const app = appForAll(engine)

    test('have the claims of subject, session, audience and expiry', async () => {
      const { _id, token } = await app().register()
      const { name } = app().app.settings
      const { kid, ...header } = decodeProtectedHeader(token)
      assert.deepEqual(header, { alg: 'EdDSA', typ: 'at+jwt' })
      assert.equal(kid, (await ownKey(app())).kid)
      const { sub, sid, iat, exp, iss, aud, role, jti, ...rest } = decodeJwt(token)
      assert.deepEqual([sub, iss, aud, rest], [_id, await installationId(app()), name, {}])
      assert.equal(exp! - iat!, 3600)
      assert.ok(role === 'user' || role === 'admin')
      assert.ok(jti)
      const listed = await send(app(), 'GET /auth/sessions', { token })
      assert.equal(sid, listed.body.sessions[0]!._id)
    })

    test('are verified by anybody with the published keys', async () => {
      const { _id, token } = await app().register()
      const { name } = app().app.settings
      const issuer = await installationId(app())
      const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', app().url))
      const { payload } = await jwtVerify(token, keys, { issuer, audience: name, typ: 'at+jwt' })
      assert.equal(payload.sub, _id)
    })

    test('are published with public keys only, for caches to keep a while', async () => {
      const answered = await send(app(), 'GET /.well-known/jwks.json')
      assert.equal(answered.status, 200)
      assert.match(answered.headers.get('cache-control')!, /^public, max-age=\d+$/)
      for (const key of answered.body.keys) {
        assert.deepEqual(Object.keys(key).toSorted(), ['alg', 'crv', 'kid', 'kty', 'use', 'x'])
        assert.deepEqual([key['kty'], key['crv'], key['alg'], key['use']], ['OKP', 'Ed25519', 'EdDSA', 'sig'])
      }
    })

    test('expire after an hour, also one that was verified before', async () => {
      const { token, refreshToken } = await app().register()
      assert.equal((await me(app(), token)).status, 200)
      app().clock.advance(3_540_000)
      assert.equal((await me(app(), token)).status, 200)
      app().clock.advance(60_000)
      const answered = await me(app(), token)
      assert.deepEqual([answered.status, answered.code], [401, 'UNAUTHORIZED'])
      assert.equal(answered.headers.get('www-authenticate'), 'Bearer')
      assert.equal((await refresh(app(), refreshToken)).status, 200)
    })

    test('are refused when anything about them is not as we sign it', async () => {
      const { token, _id } = await app().register()
      const { kid, publicJwk, privateKey } = await ownKey(app())
      const now = Math.floor(app().clock.now() / 1000)
      const claims = decodeJwt(token)
      const header = { alg: 'EdDSA', typ: 'at+jwt', kid }
      const sign = (change: Record<string, unknown>, changedHeader: object = header, key = privateKey) =>
        new SignJWT({ ...claims, ...change }).setProtectedHeader(changedHeader as typeof header).sign(key)
      const [head, body, signature] = token.split('.') as [string, string, string]
      const byHmac = (secret: string | Buffer) => {
        const signed = `${base64url({ alg: 'HS256', typ: 'at+jwt', kid })}.${body}`
        return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
      }
      const publicKey = createPublicKey({ key: publicJwk, format: 'jwk' })
      const other = await generateKeyPair('EdDSA', { extractable: true })
      const victim = await app().register()
      const forgeries: Record<string, string> = {
        'alg none': `${base64url({ alg: 'none', typ: 'at+jwt', kid })}.${body}.`,
        'alg None': `${base64url({ alg: 'None', typ: 'at+jwt', kid })}.${body}.${signature}`,
        'no signature': `${head}.${body}.`,
        'HMAC with the public key as JWK': byHmac(JSON.stringify(publicJwk)),
        'HMAC with the public key as x': byHmac(publicJwk.x!),
        'HMAC with the public key as bytes': byHmac(Buffer.from(publicJwk.x!, 'base64url')),
        'HMAC with the public key as PEM': byHmac(publicKey.export({ type: 'spki', format: 'pem' })),
        'HMAC with nothing': byHmac(''),
        'another key under our name': await sign({}, header, other.privateKey),
        'a key of its own in the header': await sign(
          {},
          { ...header, jwk: await crypto.subtle.exportKey('jwk', other.publicKey) },
          other.privateKey,
        ),
        'a key by address': await sign(
          {},
          { ...header, kid: 'x', jku: `${app().url}/keys` },
          other.privateKey,
        ),
        'an unknown key': await sign({}, { ...header, kid: 'unknown' }),
        'no key named': await sign({}, { alg: 'EdDSA', typ: 'at+jwt' }),
        'typ JWT': await sign({}, { ...header, typ: 'JWT' }),
        'typ of a mail link': await sign({}, { ...header, typ: 'magic-link+jwt' }),
        'no typ': await sign({}, { alg: 'EdDSA', kid }),
        'another issuer': await sign({ iss: 'http://evil.example' }),
        'no issuer': await sign({ iss: undefined }),
        'another audience': await sign({ aud: 'another-app' }),
        'no audience': await sign({ aud: undefined }),
        'no session': await sign({ sid: undefined }),
        'an unknown session': await sign({ sid: newId() }),
        "another user's session": await sign({ sub: victim._id }),
        'no subject': await sign({ sub: undefined }),
        'no end': await sign({ exp: undefined }),
        'an end in the past': await sign({ exp: now - 1 }),
        'not yet': await sign({ nbf: now + 600 }),
        'another body': `${head}.${base64url({ ...claims, role: 'admin' })}.${signature}`,
        'another header': `${base64url({ ...header, extra: 1 })}.${body}.${signature}`,
        'four parts': `${token}.x`,
        'two parts': `${head}.${body}`,
      }
      for (const [what, forged] of Object.entries(forgeries)) {
        const answered = await me(app(), forged)
        assert.deepEqual([answered.status, answered.code], [401, 'UNAUTHORIZED'], what)
      }
      // That the same way of signing passes where nothing was changed.
      assert.equal((await me(app(), await sign({}))).body.user._id, _id)
    })

    test('are told apart from other kinds of token by every route', async () => {
      const { token, refreshToken } = await app().register()
      const { key } = await app().app.service('auth').keys.create('backend', ['*'])
      const doors: [string, (token: string) => Promise<{ status: number }>, string][] = [
        ['bearer of a session', (given) => me(app(), given), token],
        ['refresh', (given) => refresh(app(), given), refreshToken],
      ]
      for (const [door, open, right] of doors)
        for (const given of [token, refreshToken, key, `sk_${refreshToken}`, `sk_${token}`, key.slice(3)]) {
          if (given === right) continue
          const { status } = await open(given)
          assert.ok(status === 401 || (given === key && status === 403), `${door}: ${status}`)
        }
      assert.equal((await me(app(), key)).code, 'FORBIDDEN')
      for (const [door, open, right] of doors) assert.equal((await open(right)).status, 200, door)
    })

    test('are refused with 401, whatever text is sent as one', async () => {
      const { token } = await app().register()
      const part = fc.oneof(
        fc.stringMatching(/^[\w.~+/=-]{0,40}$/),
        fc.json().map((text) => Buffer.from(text).toString('base64url')),
        fc.constantFrom(...token.split('.')),
      )
      const text = fc.oneof(
        fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.')),
        fc.nat(token.length - 1).map((at) => token.slice(0, at) + token.slice(at + 1)),
        fc.constant(`sk_${randomToken()}`),
      )
      await fc.assert(
        fc.asyncProperty(text, async (given) => {
          if (given === token) return
          assert.equal((await me(app(), given)).status, 401)
        }),
        { numRuns: 150 },
      )
    })
  })

  eachEngine((engine) => {
    const testOnce = testOnOne(engine)

    test('end with their session on every replica at once', async (t) => {
      const [one, two] = await startReplicas(t, engine)
      const { email, token, _id } = await one.register()
      const other = (await login(two, email)).body.token
      for (const app of [one, two]) assert.equal((await me(app, token)).body.user._id, _id)
      assert.equal((await send(two, 'POST /auth/logout', { token })).status, 200)
      for (const app of [one, two]) {
        assert.equal((await me(app, token)).status, 401)
        assert.equal((await me(app, other)).status, 200)
      }
    })

    testOnce('are accepted by every server on the database, whatever its port and PUBLIC_URL', async (t) => {
      const databaseUrl = await engine.migratedUrl()
      const replica = async (environment: Record<string, string>, clock?: TestClock) =>
        startApp(t, engine, {
          databaseUrl,
          environment: { PORT: String(await freePort()), ...environment },
          ...(clock && { clock }),
        })
      const first = await replica({})
      const { email, _id } = await first.register()
      // At once, as a deployment starts them.
      const environments: Record<string, string>[] = [
        {},
        {},
        { PUBLIC_URL: 'https://api.example' },
        { PUBLIC_URL: 'https://other.example' },
      ]
      const others = await Promise.all(environments.map((environment) => replica(environment, first.clock)))
      const replicas = [first, ...others]
      const tokens = await Promise.all(replicas.map(async (app) => (await login(app, email)).body.token))
      const id = await installationId(first)
      assert.deepEqual(
        tokens.map((token) => decodeJwt(token).iss),
        [id, id, id, 'https://api.example', 'https://other.example'],
      )
      for (const [at, app] of replicas.entries())
        for (const token of tokens) assert.equal((await me(app, token)).body.user?._id, _id, `replica ${at}`)
    })

    testOnce('of an issuer that is no server of the database are refused', async (t) => {
      // As a copy of the database, served under another address, signs with the same keys.
      const databaseUrl = await engine.migratedUrl()
      const production = await startApp(t, engine, { databaseUrl })
      const copy = await startApp(t, engine, {
        databaseUrl,
        clock: production.clock,
        environment: { PUBLIC_URL: 'https://copy.example' },
      })
      const { token } = await copy.register()
      await production.app.db.write(sql`delete from auth_issuers where issuer = 'https://copy.example'`)
      assert.equal((await me(production, token)).status, 401)
    })

    testOnce('live on over a restart', async (t) => {
      const databaseUrl = await engine.migratedUrl()
      const before = await startApp(t, engine, {
        databaseUrl,
        environment: { PUBLIC_URL: 'https://api.example' },
      })
      const { _id, token } = await before.register()
      await before.stop()
      const after = await startApp(t, engine, {
        databaseUrl,
        environment: { PUBLIC_URL: 'https://api.example' },
      })
      assert.equal((await me(after, token)).body.user._id, _id)
    })
  })
})
