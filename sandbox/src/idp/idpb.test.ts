import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'

import { randomToken } from '../../../server/src/base/crypto.ts'
import { sql } from '../../../server/src/db/sql.ts'
import type { TestApp } from '../../../server/src/testing/app.ts'
import { appForAll } from '../../../server/src/testing/auth.ts'
import { someEngine } from '../../../server/src/testing/engines.ts'
import { ADDED_KEPT } from './people.ts'

const YEAR_MS = 365 * 86_400_000

type Variables = Record<
  'IDPB_CLIENT_ID' | 'IDPB_CLIENT_SECRET' | 'IDPB_AUTHORIZE_URL' | 'IDPB_TOKEN_URL' | 'IDPB_API_URL',
  string
>

const variablesOf = async (app: TestApp): Promise<Variables> =>
  (await app.request('GET', '/sandbox/api')).body.idpb.variables

const callbackOf = (app: TestApp) => `${app.app.settings.publicUrl}/auth/idpb/callback`

async function begin(app: TestApp, more: Record<string, string> = {}) {
  const { IDPB_AUTHORIZE_URL, IDPB_CLIENT_ID } = await variablesOf(app)
  const verifier = randomToken()
  const url = new URL(IDPB_AUTHORIZE_URL)
  url.search = new URLSearchParams({
    client_id: IDPB_CLIENT_ID,
    redirect_uri: callbackOf(app),
    scope: 'user:email',
    state: 'a state',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...more,
  }).toString()
  return { url: url.href, verifier }
}

async function approved(app: TestApp, body: Record<string, unknown>): Promise<URL> {
  const answered = await app.request('POST', '/sandbox/api/idpb/approve', { body })
  assert.equal(answered.status, 200, answered.text)
  return new URL(answered.body.redirect)
}

const codeFor = async (app: TestApp, url: string, person = 'ada@example.com') =>
  (await approved(app, { url, person })).searchParams.get('code')!

/** A form in; JSON out unless told otherwise. */
async function exchange(app: TestApp, form: Record<string, string>, accept = 'application/json') {
  const { IDPB_TOKEN_URL, IDPB_CLIENT_ID, IDPB_CLIENT_SECRET } = await variablesOf(app)
  const response = await fetch(IDPB_TOKEN_URL, {
    method: 'POST',
    headers: { accept },
    body: new URLSearchParams({
      client_id: IDPB_CLIENT_ID,
      client_secret: IDPB_CLIENT_SECRET,
      redirect_uri: callbackOf(app),
      ...form,
    }),
  })
  return { status: response.status, type: response.headers.get('content-type')!, text: await response.text() }
}

async function tokenFor(app: TestApp, person: string, more: Record<string, string> = {}): Promise<string> {
  const { url, verifier } = await begin(app, more)
  const answered = await exchange(app, { code: await codeFor(app, url, person), code_verifier: verifier })
  return JSON.parse(answered.text).access_token
}

const read = (app: TestApp, path: string, token: string) =>
  app.request('GET', `/sandbox/idpb${path}`, { headers: { authorization: `Bearer ${token}` } })

describe('identity provider B', () => {
  someEngine((engine) => {
    const app = appForAll(engine, { sandbox: true })
    async function empty(): Promise<TestApp> {
      assert.equal((await app().request('DELETE', '/sandbox/api')).status, 200)
      return app()
    }

    test('signs somebody in as GitHub does', async () => {
      const { url, verifier } = await begin(app())
      const back = await approved(app(), { url, person: 'ada@example.com' })
      assert.equal(back.origin + back.pathname, callbackOf(app()))
      assert.equal(back.searchParams.get('state'), 'a state')
      const answered = await exchange(app(), {
        code: back.searchParams.get('code')!,
        code_verifier: verifier,
      })
      assert.match(answered.type, /^application\/json/)
      const { access_token, ...rest } = JSON.parse(answered.text)
      assert.deepEqual(rest, { token_type: 'bearer', scope: 'user:email' })
      const user = await read(app(), '/user', access_token)
      assert.deepEqual(
        [user.body.id, user.body.login, user.body.name, user.body.email],
        [100000001, 'ada', 'Ada Lovelace', null],
      )
      assert.deepEqual((await read(app(), '/user/emails', access_token)).body, [
        { email: 'ada@example.com', primary: true, verified: true, visibility: 'private' },
        {
          email: '100000001+ada@users.noreply.example.com',
          primary: false,
          verified: true,
          visibility: null,
        },
      ])
    })

    test('lets somebody consent on its page', async () => {
      const { url, verifier } = await begin(app())
      const page = await fetch(url)
      assert.equal(page.status, 200)
      assert.match(await page.text(), /<button name="person" value="100000001"/)
      const consented = await fetch(url, {
        method: 'POST',
        redirect: 'manual',
        body: new URLSearchParams({ person: '100000001' }),
      })
      assert.equal(consented.status, 303)
      const back = new URL(consented.headers.get('location')!)
      assert.equal(back.origin + back.pathname, callbackOf(app()))
      const code = back.searchParams.get('code')!
      const { access_token } = JSON.parse((await exchange(app(), { code, code_verifier: verifier })).text)
      assert.equal((await read(app(), '/user', access_token)).body.login, 'ada')
      const denied = await fetch(url, {
        method: 'POST',
        redirect: 'manual',
        body: new URLSearchParams({ deny: 'true' }),
      })
      assert.equal(new URL(denied.headers.get('location')!).searchParams.get('error'), 'access_denied')
    })

    test('answers a form where JSON is not asked for', async () => {
      const { url, verifier } = await begin(app())
      const form = { code: await codeFor(app(), url), code_verifier: verifier }
      const answered = await exchange(app(), form, '*/*')
      assert.match(answered.type, /^application\/x-www-form-urlencoded/)
      assert.match(new URLSearchParams(answered.text).get('access_token')!, /^gho_/)
    })

    test('has a verified address that is not primary beside one that is not verified', async () => {
      const token = await tokenFor(app(), 'mallory@example.com')
      const emails: { primary: boolean; verified: boolean }[] = (await read(app(), '/user/emails', token))
        .body
      assert.deepEqual(
        emails.map(({ primary, verified }) => [primary, verified]),
        [
          [true, false],
          [false, true],
        ],
      )
    })

    test('fails with status 200 and an error, and says which', async () => {
      const wrong = async (form: Record<string, string>, more: Record<string, string> = {}) => {
        const { url, verifier } = await begin(app(), more)
        const answered = await exchange(app(), {
          code: await codeFor(app(), url),
          code_verifier: verifier,
          ...form,
        })
        assert.equal(answered.status, 200)
        const { error, error_description, error_uri } = JSON.parse(answered.text)
        assert.ok(error_description && error_uri)
        return error
      }
      assert.equal(await wrong({ client_secret: 'wrong' }), 'incorrect_client_credentials')
      assert.equal(await wrong({ client_id: 'wrong' }), 'incorrect_client_credentials')
      assert.equal(await wrong({ code: 'wrong' }), 'bad_verification_code')
      assert.equal(await wrong({ code_verifier: randomToken() }), 'bad_verification_code')
      assert.equal(await wrong({ redirect_uri: `${callbackOf(app())}/other` }), 'redirect_uri_mismatch')
    })

    test('takes a code once, and ends its token when it comes again', async () => {
      const { url, verifier } = await begin(app())
      const form = { code: await codeFor(app(), url), code_verifier: verifier }
      const { access_token } = JSON.parse((await exchange(app(), form)).text)
      assert.equal((await read(app(), '/user', access_token)).status, 200)
      assert.equal(JSON.parse((await exchange(app(), form)).text).error, 'bad_verification_code')
      assert.equal((await read(app(), '/user', access_token)).status, 401)
    })

    test('takes no code of the other provider', async () => {
      const { idpa } = (await app().request('GET', '/sandbox/api')).body
      const query = new URLSearchParams({
        client_id: idpa.variables.IDPA_CLIENT_ID,
        redirect_uri: idpa.redirectUri,
        response_type: 'code',
        scope: 'openid',
      })
      const { body } = await app().request('POST', '/sandbox/api/idpa/approve', {
        body: { url: `${idpa.address}/authorize?${query.toString()}`, person: 'ada@example.com' },
      })
      const code = new URL(body.redirect).searchParams.get('code')!
      assert.equal(JSON.parse((await exchange(app(), { code })).text).error, 'bad_verification_code')
    })

    test('tells a redirect_uri that is not registered to the registered address only', async () => {
      for (const redirect_uri of [
        'https://evil.example/callback',
        `${callbackOf(app())}x`,
        callbackOf(app()).replace('//', '//user@'),
        'not an address',
      ]) {
        const { url } = await begin(app(), { redirect_uri })
        const back = new URL((await fetch(url, { redirect: 'manual' })).headers.get('location')!)
        assert.equal(back.origin + back.pathname, callbackOf(app()))
        assert.equal(back.searchParams.get('error'), 'redirect_uri_mismatch')
      }
    })

    test('tells the application that somebody denied', async () => {
      const { url } = await begin(app())
      const back = await approved(app(), { url, deny: true })
      assert.deepEqual(
        [back.searchParams.get('error'), back.searchParams.get('state'), back.searchParams.has('code')],
        ['access_denied', 'a state', false],
      )
    })

    test('shows addresses for their scope only, and nothing without a token', async () => {
      const token = await tokenFor(app(), 'ada@example.com', { scope: 'read:user' })
      assert.equal((await read(app(), '/user', token)).status, 200)
      const emails = await read(app(), '/user/emails', token)
      assert.deepEqual([emails.status, emails.body.message], [404, 'Not Found'])
      const stranger = await read(app(), '/user', 'gho_wrong')
      assert.deepEqual([stranger.status, stranger.body.message], [401, 'Bad credentials'])
      assert.equal((await app().request('GET', '/sandbox/idpb/user')).status, 401)
      const nameless = await app().request('GET', '/sandbox/idpb/user', {
        headers: { authorization: `Bearer ${token}`, 'user-agent': '' },
      })
      assert.equal(nameless.status, 403)
    })

    test('does what is set to go wrong', async () => {
      const { url, verifier } = await begin(app())
      const form = { code: await codeFor(app(), url), code_verifier: verifier }
      const set = (body: object) => app().request('PUT', '/sandbox/api/faults/idpb', { body })
      await set({ error: 502, times: 1 })
      assert.equal((await exchange(app(), form)).status, 502)
      await set({ loseAnswer: true, times: 1 })
      await assert.rejects(exchange(app(), form), /fetch failed/)
      assert.equal(JSON.parse((await exchange(app(), form)).text).error, 'bad_verification_code')
    })

    test('deletes expired codes and tokens at the next sign-in, and keeps the newest 500 tokens', async () => {
      const app = await empty()
      const { db } = app.app
      const kept = async () => {
        const { codes, tokens } = (await db.get<{ codes: number; tokens: number }>(sql`
          select (select count(*) from sandbox_codes) as codes, (select count(*) from sandbox_tokens) as tokens`))!
        return { codes, tokens }
      }
      await tokenFor(app, 'ada@example.com')
      await codeFor(app, (await begin(app)).url)
      assert.deepEqual(await kept(), { codes: 1, tokens: 1 })
      app.clock.advance(YEAR_MS)
      const token = await tokenFor(app, 'ada@example.com')
      assert.deepEqual(await kept(), { codes: 0, tokens: 1 })
      await db.batch(
        Array.from(
          { length: 600 },
          (_, at) => sql`
            insert into sandbox_tokens (token_hash, provider, person_id, code_hash, scope, expires_at)
            values (${`hash-${at}`}, 'idpb', '100000001', '', '', ${app.clock.now() + 3_600_000 + at})`,
        ),
      )
      await tokenFor(app, 'ada@example.com')
      assert.deepEqual(await kept(), { codes: 0, tokens: 500 })
      assert.equal((await read(app, '/user', token)).status, 200)
    })

    test('of people who were added the newest are kept, and those for whom something was granted', async () => {
      const app = await empty()
      const add = (email: string) => app.request('POST', '/sandbox/api/people', { body: { email } })
      await add('granted@example.com')
      await add('expired@example.com')
      const token = await tokenFor(app, 'granted@example.com')
      await codeFor(app, (await begin(app)).url, 'expired@example.com')
      app.clock.advance(3_600_000)
      await app.app.db.batch(
        Array.from(
          { length: ADDED_KEPT - 1 },
          (_, at) => sql`
            insert into sandbox_people (id, name, email, verified, created_at)
            values (${String(200_000_000 + at)}, 'x', ${`${at}@example.com`}, 1, ${app.clock.now() - 1000 + at})`,
        ),
      )
      const emails = async () =>
        (await app.request('GET', '/sandbox/api/people')).body.people.map(
          ({ email }: { email: string }) => email,
        )
      await add('one@example.com')
      const [, , , ...first] = await emails()
      assert.deepEqual(
        [first.length, first[0], first[1], first.at(-1)],
        [ADDED_KEPT + 1, 'granted@example.com', '0@example.com', 'one@example.com'],
      )
      await add('two@example.com')
      const second = await emails()
      assert.deepEqual(
        second.slice(0, 5),
        ['ada', 'grace', 'mallory', 'granted', '1'].map((one) => `${one}@example.com`),
      )
      assert.equal((await read(app, '/user', token)).status, 200)

      // After the clock was set back as well.
      await app.app.db.write(sql`update sandbox_people set created_at = ${app.clock.now() + 3_600_000}
        where id not in ('100000001', '100000002', '100000003')`)
      await add('behind@example.com')
      assert.ok((await emails()).includes('behind@example.com'))
    })

    test('keeps a token for a year', async () => {
      const token = await tokenFor(app(), 'ada@example.com')
      app().clock.advance(YEAR_MS - 60_000)
      assert.equal((await read(app(), '/user', token)).status, 200)
      app().clock.advance(60_000)
      assert.equal((await read(app(), '/user', token)).status, 401)
    })
  })
})
