// Users of other systems: what is kept of them, and how they sign in.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import bcrypt from '@node-rs/bcrypt'
import { Secret, TOTP } from 'otpauth'

import { deriveKey } from '../../../../base/crypto.ts'
import { sql } from '../../../../db/sql.ts'
import { as, auditOf, codeOf, registerAs, type TestPerson } from '../../../../testing/administration.ts'
import type { TestApp } from '../../../../testing/app.ts'
import { login, me, PASSWORD, send, times } from '../../../../testing/auth.ts'
import { eachEngine, endOfSuite, testOnOne } from '../../../../testing/engines.ts'
import { personOf } from '../../../../testing/provider-login.ts'
import { challenged, finish } from '../../../../testing/second-factor.ts'
import { TEST_SECRET } from '../../../../testing/templates.ts'
import { startWithIssuer, type WithIssuer } from '../../sign-in/identity-providers/idpa.fixture.ts'

type Report = {
  created: number
  unchanged: number
  refused: number
  errors: { line: number; _id?: string; code: string; message: string }[]
}

/** The line that the console of Firebase shows of a project: https://github.com/firebase/scrypt */
const FIREBASE = {
  hash_config: {
    algorithm: 'SCRYPT',
    base64_signer_key:
      'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==',
    base64_salt_separator: 'Bw==',
    rounds: 8,
    mem_cost: 14,
  },
}

/** A hash of each form, with its password. */
const HASHES: Readonly<Record<string, { passwordHash: unknown; salt?: string; password: string }>> = {
  bcrypt: { passwordHash: '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW', password: 'U*U' },
  argon2: {
    passwordHash: '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
    password: 'password',
  },
  scrypt: {
    passwordHash: '$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E',
    password: 'password',
  },
  firebase: {
    passwordHash: 'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
    salt: '42xEC+ixf3L2lw==',
    password: 'user1password',
  },
  django: {
    passwordHash: 'pbkdf2_sha256$20000$seasalt$oBSd886ysm3AqYun62DOdin8YcfbU1z9cksZSuLP9r0=',
    password: 'lètmein',
  },
  keycloak: {
    passwordHash: {
      id: '4e67ce9c-1ddc-45db-b36e-db50ee1f4d9e',
      type: 'password',
      secretData:
        '{"value":"JsfNbCOIdZUbyBJ+BT+VoGI91Ec2rWLOvkLPDaX8e9k=","salt":"P5rtFkGtPfoaryJ6PizUJw==","additionalParameters":{}}',
      credentialData: '{"hashIterations":27500,"algorithm":"pbkdf2-sha256","additionalParameters":{}}',
    },
    password: 'password',
  },
  aspnet: {
    passwordHash: 'AQAAAAEAACcQAAAAEAABAgMEBQYHCAkKCwwNDg+yWU7rLgUwPZb1Itsmra7cbxw2EFpwpVFIEtP+JIuUEw==',
    password: 'my password',
  },
}

const PRESENT_HASH = bcrypt.hashSync(PASSWORD, 4)

describe('the import of users', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const ending = endOfSuite()
    let withIssuer: WithIssuer
    let app: TestApp
    let admin: TestPerson
    before(async () => {
      withIssuer = await startWithIssuer(ending, engine)
      ;({ app } = withIssuer)
      admin = await registerAs(app, 'admin')
    })

    async function post(file: string, { query = '', token = admin.token } = {}) {
      const part = 'content-disposition: form-data; name="file"; filename="users.ndjson"'
      return app.request('POST', `/auth/users/import${query}`, {
        token,
        raw: `--b\r\n${part}\r\n\r\n${file}\r\n--b--\r\n`,
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
      })
    }
    const ndjson = (lines: readonly object[]): string => lines.map((line) => JSON.stringify(line)).join('\n')
    async function imported(lines: readonly object[], options?: Parameters<typeof post>[1]): Promise<Report> {
      const { status, body, text } = await post(ndjson(lines), options)
      assert.equal(status, 200, text)
      return body as Report
    }
    const created = async (...lines: object[]): Promise<void> =>
      assert.deepEqual(await imported(lines), { created: lines.length, unchanged: 0, refused: 0, errors: [] })
    const detailsOf = async (id: string) => (await as(app, admin, `GET /auth/users/${id}`)).body?.user
    const hashOf = async (id: string) =>
      (await app.app.db.get<{ password_hash: string }>(
        sql`select password_hash from auth_users where id = ${id}`,
      ))!.password_hash

    for (const [form, { password, ...hash }] of Object.entries(HASHES))
      test(`a password signs in with its hash of ${form}, which is bcrypt from then on`, async () => {
        const email = `${form}@example.com`
        const report = await imported([FIREBASE, { _id: `of-${form}`, email, ...hash }])
        assert.deepEqual([report.created, report.errors], [1, []])
        assert.doesNotMatch(await hashOf(`of-${form}`), /^\$2b\$/)
        assert.equal((await login(app, email, `${password}x`)).status, 401)
        assert.doesNotMatch(await hashOf(`of-${form}`), /^\$2b\$/)
        const first = await login(app, email, password)
        assert.equal(first.status, 200, first.text)
        assert.equal(first.body.user._id, `of-${form}`)
        assert.match(await hashOf(`of-${form}`), /^\$2b\$04\$/)
        assert.equal((await login(app, email, password)).status, 200)
        assert.equal((await login(app, email, `${password}x`)).status, 401)
      })

    test('an account has all that it had: profile, role, times, phone, identities and state', async () => {
      const _id = '507f1f77bcf86cd799439011'
      await created({
        _id,
        email: 'Whole@Example.com',
        emailVerified: true,
        phone: '+49 151 12345678'.replaceAll(' ', ''),
        name: ' Ada Whole ',
        metadata: { plan: 'pro', tags: ['a'] },
        role: 'viewer',
        createdAt: '2019-05-06T07:08:09+02:00',
        disabled: true,
        passwordHash: PRESENT_HASH,
        totpSecret: 'jbsw y3dp ehpk 3pxp',
        identities: [
          { provider: 'idpa', subject: 'whole' },
          { provider: 'idpb', subject: '583231' },
          { issuer: 'https://accounts.google.com', subject: '110169484474386276334' },
        ],
      })
      const user = await detailsOf(_id)
      const { identities, locked, sessions, ...rest } = user
      assert.deepEqual(rest, {
        _id,
        email: 'Whole@Example.com',
        name: 'Ada Whole',
        role: 'viewer',
        emailVerified: true,
        disabled: true,
        createdAt: '2019-05-06T05:08:09.000Z',
        metadata: { plan: 'pro', tags: ['a'] },
        hasPassword: true,
        factors: { passkeys: 0, totp: true, recoveryCodes: 0 },
        phone: '+4915112345678',
      })
      assert.deepEqual([locked, sessions], [false, 0])
      assert.deepEqual(
        (identities as { issuer: string; subject: string }[])
          .map(({ issuer, subject }) => `${issuer} ${subject}`)
          .toSorted(),
        [
          `${withIssuer.issuer.url} whole`,
          `${withIssuer.issuer.url}/api 583231`,
          'https://accounts.google.com 110169484474386276334',
        ].toSorted(),
      )
      assert.equal((await login(app, 'whole@example.com')).code, 'INVALID_CREDENTIALS')
      // Only who got a role has an entry of their own.
      assert.deepEqual(
        (await auditOf(app, admin, `user:${_id}`)).map(({ action, actor, after }) => [
          action,
          actor.id,
          after,
        ]),
        [
          [
            'user.created',
            admin._id,
            { email: 'Whole@Example.com', role: 'viewer', emailVerified: true, imported: true },
          ],
        ],
      )
    })

    test('a secret of an authenticator app asks for its code, and is sealed', async () => {
      const totpSecret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
      await created({ _id: 'totp', email: 'totp@example.com', passwordHash: PRESENT_HASH, totpSecret })
      const challenge = await challenged(app, 'totp@example.com')
      const code = new TOTP({ secret: Secret.fromBase32(totpSecret) }).generate({
        timestamp: app.clock.now(),
      })
      assert.equal((await finish(app, { challenge, code })).status, 200)
      const row = await app.app.db.get<{ secret: string }>(
        sql`select secret from auth_totp where user_id = 'totp'`,
      )
      assert.equal(deriveKey(TEST_SECRET, 'totp').open(row!.secret), totpSecret)
    })

    testOnce('an identity of a configured provider signs in to its account', async () => {
      const { issuer, signIn } = withIssuer
      await created({
        _id: 'Kx9bTq2mWYd0ZsVnRl3uPjEoG7h1',
        email: 'federated@example.com',
        emailVerified: true,
        identities: [{ provider: 'idpa', subject: 'federated' }],
      })
      issuer.people.set('federated', { email: 'other@example.com', email_verified: true })
      const person = await personOf(app, await signIn('federated'))
      assert.deepEqual([person._id, person.email], ['Kx9bTq2mWYd0ZsVnRl3uPjEoG7h1', 'federated@example.com'])
    })

    test('ids of every form are taken wherever an id is', async () => {
      const ids = ['a', 'Uppercase_and-signs', '-_-', '8f14e45f-ceea-467f-9b1a-2f5f0d6c8a31', 'x'.repeat(64)]
      for (const [i, _id] of ids.entries()) {
        const email = `form${i}@example.com`
        await created({ _id, email, emailVerified: true, passwordHash: PRESENT_HASH })
        const { token } = (await login(app, email)).body
        assert.equal((await me(app, token)).body.user._id, _id)
        const title = `by ${_id}`
        assert.equal((await send(app, 'POST /store/books', { token, body: { title } })).status, 201)
        const books = await as(app, admin, `GET /store/books?owner=${_id}`)
        assert.deepEqual(
          (books.body.data as { title: string }[]).map((book) => book.title),
          [title],
        )
        assert.equal((await as(app, admin, `GET /auth/users/${_id}/sessions`)).body.total, 1)
        const sessionId = (await as(app, admin, `GET /auth/users/${_id}/sessions`)).body.sessions[0]._id
        assert.equal((await as(app, admin, `DELETE /auth/users/${_id}/sessions/${sessionId}`)).status, 200)
        assert.equal((await me(app, token)).status, 401)
        const renamed = await as(app, admin, `PATCH /auth/users/${_id}`, { name: `N${i}` })
        assert.equal(renamed.status, 200, renamed.text)
        assert.equal(renamed.body.user.name, `N${i}`)
        const entries = await auditOf(app, admin, `user:${_id}`, 'user.profile-changed')
        assert.equal(entries.length, 1)
        const byActor = await as(app, admin, `GET /auth/audit?actor=${_id}&limit=1`)
        assert.equal(byActor.status, 200, byActor.text)
        assert.equal((await as(app, admin, `DELETE /auth/users/${_id}`)).status, 200)
        assert.equal((await as(app, admin, `GET /auth/users/${_id}`)).status, 404)
      }
    })

    test('lists are by time, newest first, whatever the ids are', async () => {
      const years = [2011, 2017, 2013, 2013, 2015, 2012]
      await created(
        ...years.map((year, i) => ({
          _id: `${'zAmB0_'[i]}-listed`,
          email: `listed${i}@example.com`,
          createdAt: `${year}-01-01T00:00:00Z`,
          ...(i % 2 === 0 && { disabled: true }),
        })),
      )
      const pages = async (filter: string) => {
        const seen: string[] = []
        for (let cursor = ''; ;) {
          const { status, body, text } = await as(
            app,
            admin,
            `GET /auth/users?${filter}&limit=2${cursor && `&cursor=${cursor}`}`,
          )
          assert.equal(status, 200, text)
          seen.push(...(body.users as { createdAt: string }[]).map(({ createdAt }) => createdAt.slice(0, 4)))
          if (body.nextCursor === undefined) return seen
          cursor = body.nextCursor
        }
      }
      assert.deepEqual(await pages('q=listed'), ['2017', '2015', '2013', '2013', '2012', '2011'])
      assert.deepEqual(await pages('q=listed&state=disabled'), ['2015', '2013', '2011'])
      const wrong = await as(
        app,
        admin,
        `GET /auth/users?cursor=${Buffer.from(admin._id).toString('base64url')}`,
      )
      assert.match(wrong.text, /This is not a cursor/)
    })

    test('the same file again changes nothing, and neither does another line with the _id', async () => {
      const lines = times(3, (n) => ({ _id: `again-${n}`, email: `again${n}@example.com`, name: 'First' }))
      await created(...lines)
      await app.app.service('auth').users.update({ id: 'again-1' }, { name: 'Changed here' })
      const changed = lines.map((line) => ({ ...line, name: 'Second', passwordHash: PRESENT_HASH }))
      const report = await imported([...changed, { _id: 'again-9', email: 'again9@example.com' }])
      assert.deepEqual(report, { created: 1, unchanged: 3, refused: 0, errors: [] })
      const { name, hasPassword } = await detailsOf('again-1')
      assert.deepEqual([name, hasPassword], ['Changed here', false])
    })

    test('concurrent imports of one file create each account once', async () => {
      const lines = times(250, (n) => ({ _id: `both-${n}`, email: `both${n}@example.com` }))
      const reports = await Promise.all([imported(lines), imported(lines), imported(lines)])
      assert.deepEqual(
        reports.map(({ refused }) => refused),
        [0, 0, 0],
      )
      assert.equal(
        reports.reduce((sum, one) => sum + one.created, 0),
        250,
      )
      assert.equal(
        reports.reduce((sum, one) => sum + one.unchanged, 0),
        500,
      )
    })

    test('a line that is refused is reported, and keeps no other out', async () => {
      await created({ _id: 'first', email: 'first@example.com', phone: '+4915112345670' })
      const { id: keyId } = await app.app.service('auth').keys.create('importer', ['store'])
      const refused: [line: object | string, code: string, message: RegExp][] = [
        ['{"_id":', 'VALIDATION_ERROR', /JSON/],
        ['[]', 'VALIDATION_ERROR', /must be an object/],
        [{ email: 'x@example.com' }, 'VALIDATION_ERROR', /^_id: is required$/],
        [{ _id: 'r-1' }, 'VALIDATION_ERROR', /^email: is required$/],
        [{ _id: 'a b', email: 'r2@example.com' }, 'VALIDATION_ERROR', /^_id: .*1 to 64 letters/],
        [{ _id: 'x'.repeat(65), email: 'r3@example.com' }, 'VALIDATION_ERROR', /^_id: /],
        [{ _id: 'system', email: 'r4@example.com' }, 'VALIDATION_ERROR', /^_id: "system" cannot be the id/],
        [{ _id: keyId, email: 'r5@example.com' }, 'CONFLICT', /service key/],
        [{ _id: 'r-6', email: 'FIRST@example.com' }, 'EMAIL_TAKEN', /^FIRST@example.com has an account/],
        [{ _id: 'r-7', email: 'nobody' }, 'VALIDATION_ERROR', /^email: Write one email address/],
        [{ _id: 'r-8', email: 'r8@example.com', phone: '+4915112345670' }, 'CONFLICT', /has this number/],
        [{ _id: 'r-9', email: 'r9@example.com', phone: '0151' }, 'VALIDATION_ERROR', /^phone: /],
        [
          { _id: 'r-10', email: 'r10@example.com', password: 'x' },
          'VALIDATION_ERROR',
          /^password: is not a known field/,
        ],
        [
          { _id: 'r-11', email: 'r11@example.com', role: 'owner' },
          'VALIDATION_ERROR',
          /^role: must be one of/,
        ],
        [
          { _id: 'r-12', email: 'r12@example.com', createdAt: 'yesterday' },
          'VALIDATION_ERROR',
          /^createdAt: must be a time/,
        ],
        [
          { _id: 'r-13', email: 'r13@example.com', createdAt: '2999-01-01' },
          'VALIDATION_ERROR',
          /in the future/,
        ],
        [
          { _id: 'r-14', email: 'r14@example.com', totpSecret: 'nope' },
          'VALIDATION_ERROR',
          /^totpSecret: must be the secret in base 32/,
        ],
        [
          { _id: 'r-15', email: 'r15@example.com', metadata: { a: 'x'.repeat(17_000) } },
          'VALIDATION_ERROR',
          /^metadata: .*16384/,
        ],
        [
          { _id: 'r-16', email: 'r16@example.com', identities: [{ subject: 's' }] },
          'VALIDATION_ERROR',
          /^identities\/0: .*provider/,
        ],
        [
          { _id: 'r-17', email: 'r17@example.com', identities: [{ provider: 'okta', subject: 's' }] },
          'VALIDATION_ERROR',
          /no provider "okta"/,
        ],
        [
          { _id: 'r-18', email: 'r18@example.com', passwordHash: '5f4dcc3b5aa765d61d8327deb882cf99' },
          'VALIDATION_ERROR',
          /^passwordHash: is of no known form: send one of bcrypt/,
        ],
        [
          {
            _id: 'r-19',
            email: 'r19@example.com',
            passwordHash: 'pbkdf2_sha256$1000000000$s$oBSd886ysm3AqYun62DOdin8YcfbU1z9cksZSuLP9r0=',
          },
          'VALIDATION_ERROR',
          /to 5000000$/,
        ],
        [
          { _id: 'r-20', email: 'r20@example.com', passwordHash: 'x', salt: 'x' },
          'VALIDATION_ERROR',
          /hash_config/,
        ],
        [
          { hash_config: { ...FIREBASE.hash_config, algorithm: 'BCRYPT' } },
          'VALIDATION_ERROR',
          /^hash_config\/algorithm: must be SCRYPT/,
        ],
      ]
      const good = (n: number) => ({ _id: `good-${n}`, email: `good${n}@example.com` })
      const lines = [
        good(0),
        ...refused.map(([line]) => line),
        good(1),
        { _id: 'r-21', email: 'good1@example.com' },
      ]
      const file = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
      const { body, text } = await post(file)
      const report = body as Report
      assert.deepEqual([report.created, report.refused], [2, refused.length + 1], text)
      for (const [i, [, code, message]] of refused.entries()) {
        const error = report.errors.find(({ line }) => line === i + 2)
        assert.equal(error?.code, code, JSON.stringify([refused[i], error]))
        assert.match(error.message, message)
      }
      assert.deepEqual(report.errors.at(-1), {
        line: lines.length,
        _id: 'r-21',
        code: 'EMAIL_TAKEN',
        message: 'good1@example.com has an account already.',
      })
      assert.equal(await detailsOf('r-8'), undefined)
    })

    test('a dry run says what would come, and writes nothing', async () => {
      const lines = [
        { _id: 'dry', email: 'dry@example.com', totpSecret: 'GEZDGNBVGY3TQOJQ', phone: '+4915112345699' },
        { _id: 'dry-2', email: admin.email },
        { _id: admin._id, email: 'dry3@example.com' },
      ]
      const report = await imported(lines, { query: '?dryRun=true' })
      assert.deepEqual([report.created, report.unchanged, report.refused], [1, 1, 1])
      assert.equal(await detailsOf('dry'), undefined)
      assert.equal((await post(ndjson(lines), { query: '?dryrun=true' })).status, 400)
    })

    test('an import is one entry of the audit log, and sends nothing', async () => {
      const before = await as(app, admin, 'GET /auth/audit?action=users.imported')
      await created({ _id: 'quiet', email: 'quiet@example.com', passwordHash: PRESENT_HASH })
      const after = await as(app, admin, 'GET /auth/audit?action=users.imported')
      assert.equal(after.body.total, before.body.total + 1)
      assert.equal(after.body.entries[0].actor.id, admin._id)
      assert.deepEqual(await auditOf(app, admin, 'user:quiet'), [])
      assert.ok(app.log().includes('"event":"accounts-imported"'))
      assert.ok(!app.log().includes(PRESENT_HASH))
    })

    test('a service key imports users, and gives nobody a role', async () => {
      const { key } = await app.app.service('auth').keys.create('mover', ['auth'])
      const lines = [
        { _id: 'by-key', email: 'by-key@example.com' },
        { _id: 'by-key-2', email: 'by-key2@example.com', role: 'admin' },
      ]
      const report = await imported(lines, { token: key })
      assert.deepEqual(
        [report.created, report.errors.map(({ _id, code }) => [_id, code])],
        [1, [['by-key-2', 'FORBIDDEN']]],
      )
    })

    testOnce('only operators import, after a recent proof', async () => {
      const file = ndjson([{ _id: 'never', email: 'never@example.com' }])
      const { token } = await app.register()
      assert.equal((await post(file, { token })).status, 403)
      const { key } = await app.app.service('auth').keys.create('other', ['store'])
      assert.equal((await post(file, { token: key })).status, 403)
      const earlier = await registerAs(app, 'admin')
      app.clock.advance(11 * 60_000)
      assert.equal(codeOf(await post(file, { token: earlier.token })), 'RECENT_SIGN_IN_REQUIRED')
      admin = { ...admin, token: (await login(app, admin.email)).body.token }
    })

    testOnce('a file of another format is refused before anything is written', async () => {
      for (const file of [
        '[{"_id":"z","email":"z@example.com"}]',
        '{\n"_id":"z","email":"z@example.com"}',
        'a,b',
      ])
        assert.match((await post(file)).text, /write each user on one line/)
      assert.equal((await post(`{"_id":"${'x'.repeat(200_000)}"}`)).status, 413)
      assert.deepEqual((await post('')).body, { created: 0, unchanged: 0, refused: 0, errors: [] })
    })

    testOnce('an address without an account takes the time of imported ones', async () => {
      // A letter apart, so that one is next to each place in the alphabet.
      const passwordHash = 'pbkdf2_sha256$1000000$seasalt2$egbhFghgsJVDo5Tpg/k9ZnfbySKQ1UQnBYXhR97a7sk='
      const letters = Array.from('abcdefghijklmnopqrstuvwxyz')
      await created(
        ...letters.flatMap((a) =>
          letters.map((b) => ({ _id: `slow-${a}${b}`, email: `${a}${b}zz@slow.example.com`, passwordHash })),
        ),
      )
      const cost = async (email: string): Promise<number> => {
        const before = process.cpuUsage()
        assert.equal((await login(app, email, 'wrong horse battery')).status, 401)
        const { user, system } = process.cpuUsage(before)
        return user + system
      }
      const real = await cost('mmzz@slow.example.com')
      const unknown = []
      for (let i = 0; i < 5; i++) unknown.push(await cost(`unknown${i}@nowhere.example.com`))
      // Ours take a hundredth, at the cost of tests.
      assert.ok(unknown.filter((one) => one > real / 4).length >= 4, JSON.stringify([real, unknown]))
    })

    testOnce('a hash at the wrong route is refused, not left out', async () => {
      const body = { email: 'unaware@example.com', passwordHash: PRESENT_HASH }
      const { status, text } = await as(app, admin, 'POST /auth/users', body)
      assert.equal(status, 400)
      assert.match(text, /\/body\/passwordHash: is not a known field/)
    })
  })
})
