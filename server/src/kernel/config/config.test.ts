import assert from 'node:assert/strict'
import { chmod, mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { createApp, type Config } from '../../app.ts'
import { Type } from '../../base/schema.ts'
import { loadSettings, type SettingsInput } from './config.ts'
import { temporaryFolder } from '../../testing/engines.ts'
import { assemble } from '../../testing/assemble.ts'
import { warningsOf } from './warnings.ts'
import { defineWire } from '../wire/wire.ts'

type Environment = Record<string, string>
const SECRET = 'a secret of the tests that is long enough'

const settings = async (t: TestContext, environment: Environment = {}, input: SettingsInput = {}) => {
  const folder = await temporaryFolder(t)
  return { folder, ...(await loadSettings(input, { SIXWIRE_SECRET: SECRET, ...environment }, folder)) }
}

/** The one line with which a start is refused. */
async function refusal(t: TestContext, environment: Environment, config: Config = {}): Promise<string> {
  const folder = await temporaryFolder(t)
  let line = ''
  await assert.rejects(
    async () => {
      const app = await createApp({
        config,
        environment: { SIXWIRE_SECRET: SECRET, LOG_LEVEL: 'silent', ...environment },
        folder,
      })
      await app.close()
    },
    (error: Error) => {
      assert.equal(error.name, 'StartError', String(error.stack))
      line = error.message
      return true
    },
  )
  assert.doesNotMatch(line, /\n/)
  return line.replaceAll(folder, '.')
}

describe('a variable that can not work stops the start with one line that names it', () => {
  const cases: [Environment, RegExp][] = [
    [{ PORT: 'abc' }, /^PORT: "abc" is not a port/],
    [{ PORT: '65536' }, /^PORT: "65536"/],
    [{ PORT: '-1' }, /^PORT: "-1"/],
    [{ PORT: '3e3' }, /^PORT: "3e3"/],
    [{ APP_URL: 'nonsense' }, /^APP_URL: "nonsense" is not an address/],
    [{ APP_URL: 'ftp://shop.example' }, /^APP_URL: /],
    [{ PUBLIC_URL: 'shop.example' }, /^PUBLIC_URL: "shop.example"/],
    [{ SIXWIRE_SECRET: 'short' }, /^SIXWIRE_SECRET: it is shorter than 32 characters$/],
    [{ NODE_ENV: 'Production' }, /^NODE_ENV: "Production" means nothing/],
    [{ NODE_ENV: '"production"' }, /^NODE_ENV: .* means nothing: write "production"$/],
    [{ SIXWIRE_POLICY: '' }, /^SIXWIRE_POLICY: it is empty: write guarded or open$/],
    [{ SIXWIRE_SECRET: '', NODE_ENV: 'production' }, /^SIXWIRE_SECRET: it is required in production/],
    [{ DATABASE_URL: 'nonsense' }, /^DATABASE_URL: write sqlite:/],
    [{ DATABASE_URL: 'mysql://root:hidden@127.0.0.1/x' }, /^DATABASE_URL: write sqlite:/],
    [{ DATABASE_URL: 'sqlite:' }, /^DATABASE_URL: write sqlite:/],
    [{ DATABASE_URL: 'sqlite::memory:' }, /^DATABASE_URL: write sqlite:/],
    [
      { DATABASE_URL: 'postgres://me:hidden@127.0.0.1:1/x' },
      /^DATABASE_URL: .*127\.0\.0\.1:1\/x.*ECONNREFUSED/,
    ],
    [{ DATABASE_URL: 'postgres://me:hidden@127.0.0.1:99999/x' }, /^DATABASE_URL: /],
    [{ DATABASE_URL: 'sqlite:package.json/x.db' }, /^DATABASE_URL: .*package\.json\/x\.db/],
    [{ TRUST_PROXY: 'maybe' }, /^TRUST_PROXY: "maybe"/],
    [{ TRUST_PROXY: 'abc' }, /^TRUST_PROXY: "abc"/],
    [{ TRUST_PROXY: '300.0.0.1' }, /^TRUST_PROXY: /],
    [{ TRUST_PROXY: '10.0.0.0/33' }, /^TRUST_PROXY: /],
    [{ TRUST_PROXY: '10.0.0.1, ::::' }, /^TRUST_PROXY: /],
    [{ TRUST_PROXY: ',' }, /^TRUST_PROXY: /],
    [{ PUBLIC_URL: 'https://me:hidden@shop.example' }, /^PUBLIC_URL: the address must not name a user$/],
    [{ PUBLIC_URL: 'https://me:hidden@shop.example:99999' }, /^PUBLIC_URL: what is set is not an address/],
    [{ PUBLIC_URL: 'https://shop.example/?a=b' }, /^PUBLIC_URL: .* must end before the "\?" or "#"$/],
    [{ APP_URL: 'https://shop.example/#/' }, /^APP_URL: .* must end before the "\?" or "#"$/],
    [{ SIXWIRE_POLICY: 'closed' }, /^SIXWIRE_POLICY: "closed" is not one of open, guarded$/],
    [{ SIXWIRE_RATE_LIMITS: 'maybe' }, /^SIXWIRE_RATE_LIMITS: "maybe" is not one of on, off$/],
    [
      { SIXWIRE_SANDBOX_HOST: 'https://shop.example' },
      /^SIXWIRE_SANDBOX_HOST: "https:\/\/shop.example" is neither a host name/,
    ],
    [{ SIXWIRE_SANDBOX_HOST: 'shop.example:3000' }, /^SIXWIRE_SANDBOX_HOST: /],
    [{ SIXWIRE_SANDBOX_HOST: '*' }, /^SIXWIRE_SANDBOX_HOST: /],
    [{ SIXWIRE_SANDBOX_HOST: '172.16.0.0/33' }, /^SIXWIRE_SANDBOX_HOST: "172.16.0.0\/33" is neither/],
    [
      { HOST: '203.0.113.1', SIXWIRE_SANDBOX_HOST: '10.0.0.0/8' },
      /^HOST: the mail server of the sandbox can't/,
    ],
    [{ SIXWIRE_SANDBOX_HOST: 'app,*' }, /^SIXWIRE_SANDBOX_HOST: "\*" is neither/],
    [{ SIXWIRE_ORIGINS: 'shop.example' }, /^SIXWIRE_ORIGINS: "shop.example" is not an origin/],
    [{ SIXWIRE_ORIGINS: 'https://*.example.com' }, /^SIXWIRE_ORIGINS: "https:.*": \* stands alone/],
    [{ SIXWIRE_ORIGINS: 'https://ada@shop.example' }, /^SIXWIRE_ORIGINS: .* is not an origin/],
    [{ SIXWIRE_ORIGINS: 'https://shop.example:x' }, /^SIXWIRE_ORIGINS: .* is not an origin/],
    [{ SIXWIRE_ADMINS: 'nobody' }, /^SIXWIRE_ADMINS: "nobody" is not an email address$/],
    [{ SIXWIRE_WIRES: 'core,shop' }, /^SIXWIRE_WIRES: there is no wire "shop"/],
    [
      { SIXWIRE_POLCY: 'guarded' },
      /^SIXWIRE_POLCY: there is no such variable: did you mean SIXWIRE_POLICY\?$/,
    ],
    [{ SIXWIRE_PORT: '4000' }, /^SIXWIRE_PORT: there is no such variable: did you mean PORT\?$/],
    [{ SIXWIRE_SMTPURL: 'x' }, /^SIXWIRE_SMTPURL: .*: did you mean SMTP_URL\?$/],
    [{ SIXWIRE_NOTHING: '' }, /^SIXWIRE_NOTHING: there is no such variable$/],
    [{ SIXWIRE_WIRES: 'stor' }, /^SIXWIRE_WIRES: there is no wire "stor": .*: did you mean store\?$/],
    [{ LOG_LEVEL: 'loud' }, /^LOG_LEVEL: "loud" is not one of trace, /],
    [{ DATA_DIR: 'package.json/data', SIXWIRE_SECRET: '' }, /^DATA_DIR: .*package\.json\/data\/secret/],
  ]
  for (const [environment, line] of cases)
    test(JSON.stringify(environment), async (t) => {
      const folder = await temporaryFolder(t)
      const file = join(folder, 'package.json')
      await writeFile(file, '{}')
      const said = Object.fromEntries(
        Object.entries(environment).map(([name, value]) => [name, value.replace('package.json', file)]),
      )
      const given = await refusal(t, said)
      assert.match(given, line)
      assert.doesNotMatch(given, /hidden/, 'a password is not printed')
    })
})

describe('a configuration file that can not work is refused in the same way', () => {
  // What a program in plain JavaScript may say, which no compiler has seen.
  for (const [config, line] of [
    [{ port: 'abc' }, /^port: "abc" is not a port/],
    [{ port: {} }, /^port: write a text, a number, true or false, or a list of texts$/],
    [{ dataDir: null }, /^dataDir: write a text/],
    [{ admins: [null] }, /^admins: write a text/],
    [{ host: '' }, /^host: it is empty$/],
    [{ name: 5 }, /^name: write a text$/],
    [{ production: 'yes' }, /^production: write true or false$/],
    [{ policy: 'guardd' }, /^policy: "guardd" is not one of open, guarded$/],
    [{ appUrl: 'nonsense' }, /^appUrl: "nonsense"/],
    [{ trustProxy: true }, /^trustProxy: /],
    [{ rateLimits: 'yes' }, /^rateLimits: "yes"/],
    [{ load: ['shop'] }, /^SIXWIRE_WIRES: there is no wire "shop"/],
    [{ polcy: 'guarded' }, /^polcy: there is no such setting: did you mean policy\?$/],
    [{ mesaging: {} }, /^mesaging: there is no such setting: did you mean messaging\?$/],
    [{ nothing: 1 }, /^nothing: there is no such setting$/],
    [{ auth: { local: { passwordMinLength: 0 } } }, /^auth\.local\.passwordMinLength: must be >= 1$/],
    [
      { auth: { local: { passwordMinLength: 'eight' } } },
      /^auth\.local\.passwordMinLength: must be integer$/,
    ],
    [{ auth: { registration: 'shut' } }, /^auth\.registration: /],
    [{ store: { collections: { books: 'everybody' } } }, /^store\.collections\.books: /],
    [
      { store: { colections: {} } },
      /^store\.colections: there is no such option: did you mean collections\?$/,
    ],
    [{ auth: 'no' }, /^auth: must be object$/],
    [{ wires: {} }, /^wires: /],
    [{ wires: [() => undefined] }, /^wires: .*\(\)/],
    [{ wires: [{}] }, /^wires: /],
  ] as const)
    test(JSON.stringify(config), async (t) => {
      assert.match(await refusal(t, {}, config as unknown as Config), line)
    })

  test('a package.json that is not JSON', async (t) => {
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, 'package.json'), '{')
    await assert.rejects(
      loadSettings({}, { SIXWIRE_SECRET: SECRET }, folder),
      /package\.json: this is not JSON/,
    )
  })
})

describe('a variable that begins with SIXWIRE_ is known', () => {
  const own = defineWire({
    name: 'shop',
    options: Type.Object({ key: Type.Optional(Type.String()) }),
    env: { SIXWIRE_SHOP_KEY: 'key' },
    setup: () => ({ routes: [], service: undefined }),
  })
  test('where a wire declares it, loaded or not', async (t) => {
    const folder = await temporaryFolder(t)
    for (const SIXWIRE_WIRES of ['core', 'core,shop']) {
      const environment = {
        SIXWIRE_SECRET: SECRET,
        LOG_LEVEL: 'silent',
        SIXWIRE_SHOP_KEY: 'k',
        SIXWIRE_WIRES,
      }
      const app = await createApp({ config: { wires: [own()] }, environment, folder })
      await app.close()
    }
    assert.match(
      await refusal(t, { SIXWIRE_SHOP_KYE: 'k' }, { wires: [own()] }),
      /^SIXWIRE_SHOP_KYE: .*: did you mean SIXWIRE_SHOP_KEY\?$/,
    )
  })

  test('and refused if the prefix itself is misspelt', async (t) => {
    for (const name of ['SIXWRE_POLICY', 'SIXWIREPOLICY', 'sixwire_policy'])
      assert.match(
        await refusal(t, { [name]: 'guarded' }),
        new RegExp(`^${name}: there is no such variable: did you mean SIXWIRE_POLICY\\?$`),
      )
  })

  // https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
  test('where Kubernetes sets it for a service called sixwire, or sixwire-…', async (t) => {
    const environment = {
      SIXWIRE_SECRET: SECRET,
      LOG_LEVEL: 'silent',
      SIXWIRE_SERVICE_HOST: '10.0.0.11',
      SIXWIRE_SERVICE_PORT: '3000',
      SIXWIRE_SERVICE_PORT_HTTP: '3000',
      SIXWIRE_PORT: 'tcp://10.0.0.11:3000',
      SIXWIRE_PORT_3000_TCP: 'tcp://10.0.0.11:3000',
      SIXWIRE_PORT_3000_TCP_PROTO: 'tcp',
      SIXWIRE_PORT_3000_TCP_PORT: '3000',
      SIXWIRE_PORT_3000_TCP_ADDR: '10.0.0.11',
      SIXWIRE_API_SERVICE_HOST: '10.0.0.12',
      SIXWIRE_API_PORT: 'tcp://10.0.0.12:80',
      SIXWIRE_API_PORT_80_TCP: 'tcp://10.0.0.12:80',
    }
    const app = await createApp({ environment, folder: await temporaryFolder(t) })
    await app.close()
  })
})

describe('what holds', () => {
  test('the environment, over the file, over the defaults', async (t) => {
    const file = { port: 4000, host: '127.0.0.2', policy: 'guarded', rateLimits: true } as const
    assert.equal((await settings(t)).port, 3000)
    assert.equal((await settings(t, {}, file)).port, 4000)
    assert.equal((await settings(t, { PORT: '5000' }, file)).port, 5000)
    assert.equal((await settings(t, { PORT: '' }, file)).port, 4000, 'an empty variable says nothing')
    assert.equal((await settings(t, { SIXWIRE_POLICY: 'open' }, file)).policy, 'open')
    assert.equal((await settings(t, { SIXWIRE_RATE_LIMITS: 'off' }, file)).rateLimits, false)
    assert.equal((await settings(t, { NODE_ENV: 'production' }, { production: false })).production, true)
    assert.equal((await settings(t, { NODE_ENV: 'test' }, { production: true })).production, false)
    assert.equal((await settings(t, {}, { production: true })).production, true)
  })

  test('in production: guarded, limited, reachable from outside, closed to other pages', async (t) => {
    const outside = await settings(t)
    assert.deepEqual(
      [outside.policy, outside.rateLimits, outside.host, outside.origins],
      ['open', false, '127.0.0.1', []],
    )
    const inside = await settings(t, { NODE_ENV: 'production', APP_URL: 'https://shop.example/app' })
    assert.deepEqual(
      [inside.policy, inside.rateLimits, inside.host, inside.origins],
      ['guarded', true, '0.0.0.0', ['https://shop.example']],
    )
    assert.deepEqual((await settings(t, { NODE_ENV: 'production' })).origins, [])
  })

  test('a path is one in the application’s folder, wherever the program was started', async (t) => {
    const { folder, dataDir, databaseUrl } = await settings(t)
    assert.equal(dataDir, join(folder, 'data'))
    assert.equal(databaseUrl, `sqlite:${join(folder, 'data/sixwire.db')}`)
    const named = await settings(t, { DATABASE_URL: 'sqlite:./kept/here.db', DATA_DIR: 'files' })
    assert.equal(named.databaseUrl, `sqlite:${join(named.folder, 'kept/here.db')}`)
    assert.equal(named.dataDir, join(named.folder, 'files'))
    assert.equal((await settings(t, { DATABASE_URL: 'sqlite:/srv/x.db' })).databaseUrl, 'sqlite:/srv/x.db')
  })

  test('addresses are in the form that URLs have once they are parsed', async (t) => {
    for (const [written, publicUrl] of [
      ['https://shop.example', 'https://shop.example'],
      ['HTTPS://Shop.Example:443/', 'https://shop.example'],
      ['http://shop.example:80/API//', 'http://shop.example/API'],
      ['https://shop.example:8443/a/../b', 'https://shop.example:8443/b'],
      ['https://bücher.example', 'https://xn--bcher-kva.example'],
      ['http://[::1]:3000', 'http://[::1]:3000'],
    ] as const)
      assert.equal((await settings(t, { PUBLIC_URL: written })).publicUrl, publicUrl)
  })

  test('the host names and networks that the sandbox is open to, in the form in which they are compared', async (t) => {
    for (const [written, ...names] of [
      ['Shop.Example', 'shop.example'],
      ['bücher.example', 'xn--bcher-kva.example'],
      ['192.168.1.5', '192.168.1.5'],
      ['FE80::1', '[fe80::1]'],
      ['[::1]', '[::1]'],
      ['demo.example, app', 'demo.example', 'app'],
    ] as [string, ...string[]][])
      assert.deepEqual((await settings(t, { SIXWIRE_SANDBOX_HOST: written })).sandboxHost, {
        names,
        networks: [],
      })
    const { sandboxHost } = await settings(t, {}, { sandboxHost: ['172.16.0.0/12', 'app', 'fd00::/8'] })
    assert.deepEqual(sandboxHost, { names: ['app'], networks: ['172.16.0.0/12', 'fd00::/8'] })
    assert.deepEqual((await settings(t)).sandboxHost, { names: [], networks: [] })
  })

  test('the address of the sandbox is PUBLIC_URL only if the sandbox answers there', async (t) => {
    for (const [PUBLIC_URL, SIXWIRE_SANDBOX_HOST, isPublic] of [
      ['http://127.0.0.1:3000', '', true],
      ['https://shop.example', '', false],
      ['https://shop.example', 'shop.example', true],
      ['https://shop.example', '172.16.0.0/12', false],
      ['http://app:3000', '172.16.0.0/12', true],
      ['http://app:3000', '', false],
      ['http://192.168.1.5:3000', '192.168.1.0/24', true],
      ['http://192.168.1.5:3000', '192.168.1.5', true],
      ['http://192.168.1.5:3000', '172.16.0.0/12', false],
      ['http://[fd00::5]:3000', 'fd00::/8', true],
    ] as const) {
      const { sandboxUrl } = await settings(t, { PUBLIC_URL, SIXWIRE_SANDBOX_HOST })
      const expected = isPublic ? PUBLIC_URL : 'http://localhost:3000'
      assert.equal(sandboxUrl, `${expected}/sandbox`, `${PUBLIC_URL} ${SIXWIRE_SANDBOX_HOST}`)
    }
  })

  test('lists of proxies and origins, in the form in which they are compared', async (t) => {
    const { trustProxy, origins } = await settings(t, {
      TRUST_PROXY: '10.0.0.0/8, ::1,loopback',
      SIXWIRE_ORIGINS:
        'https://Shop.example:443/, http://b.example:8080, capacitor://localhost, tauri://localhost',
    })
    assert.equal(trustProxy, '10.0.0.0/8,::1,loopback')
    assert.deepEqual(origins, [
      'https://shop.example',
      'http://b.example:8080',
      'capacitor://localhost',
      'tauri://localhost',
    ])
    const more = await settings(t, {
      NODE_ENV: 'production',
      APP_URL: 'https://shop.example/app',
      SIXWIRE_ORIGINS: 'https://admin.example,https://shop.example',
    })
    assert.deepEqual(more.origins, ['https://shop.example', 'https://admin.example'])
  })
})

describe('the secret', () => {
  test('is made once, by whichever of many starts is first, for its owner’s eyes', async (t) => {
    const folder = await temporaryFolder(t)
    const all = await Promise.all(Array.from({ length: 40 }, () => loadSettings({}, {}, folder)))
    assert.equal(new Set(all.map(({ secret }) => secret)).size, 1)
    assert.ok(all[0]!.secret.length >= 64)
    assert.equal((await stat(join(folder, 'data/secret'))).mode & 0o777, 0o600)
    assert.equal((await loadSettings({}, {}, folder)).secret, all[0]!.secret, 'and kept')
  })

  // Windows has no such modes.
  test(
    'is made private at the next start, whatever its mode was',
    { skip: process.platform === 'win32' },
    async (t) => {
      const folder = await temporaryFolder(t)
      const { secret } = await loadSettings({}, {}, folder)
      const file = join(folder, 'data/secret')
      await chmod(file, 0o644)
      assert.equal((await loadSettings({}, {}, folder)).secret, secret)
      assert.equal((await stat(file)).mode & 0o777, 0o600)
    },
  )

  test('that is cut short is not used', async (t) => {
    const folder = await temporaryFolder(t)
    await mkdir(join(folder, 'data'))
    await writeFile(join(folder, 'data/secret'), 'half')
    await assert.rejects(
      loadSettings({}, {}, folder),
      /^StartError: DATA_DIR: .*secret does not hold a whole secret/,
    )
  })
})

describe('what is likely to be a mistake is a warning', () => {
  const PRODUCTION = { NODE_ENV: 'production', PUBLIC_URL: 'https://api.example' }

  test('production without an address on PostgreSQL', async (t) => {
    const environment = { NODE_ENV: 'production', DATABASE_URL: 'postgres://me@127.0.0.1/shop' }
    const [line, ...others] = warningsOf(await settings(t, environment), environment)
    assert.match(line!, /^PUBLIC_URL: .* issuer of tokens: set .*, the same on every replica$/)
    assert.deepEqual(others, [])
  })

  for (const [what, environment, lines] of [
    ['nothing of the defaults', {}, []],
    ['nothing of a production', PRODUCTION, []],
    [
      'production with open',
      { ...PRODUCTION, SIXWIRE_POLICY: 'open' },
      [/^SIXWIRE_POLICY: it is open in prod/],
    ],
    ['open for other machines', { HOST: '0.0.0.0' }, [/^HOST: 0\.0\.0\.0 lets .* SIXWIRE_POLICY is open/]],
    ['not guarded for other machines', { HOST: '0.0.0.0', SIXWIRE_POLICY: 'guarded' }, []],
    [
      'production without an address',
      { NODE_ENV: 'production' },
      [/^PUBLIC_URL: .* http:\/\/localhost:0, and other services .* issuer of tokens: set .* outside$/],
    ],
    ['a secret of one character', { SIXWIRE_SECRET: 'a'.repeat(64) }, [/^SIXWIRE_SECRET: it has too little/]],
    ['a secret that repeats itself', { SIXWIRE_SECRET: 'change me, now! '.repeat(2) }, [/^SIXWIRE_SECRET/]],
    [
      'mail in plaintext',
      { SMTP_URL: 'smtp://mail.example' },
      [/^SMTP_URL, .* goes to mail\.example in plaintext/],
    ],
    ['not mail over TLS', { SMTP_URL: 'smtps://me:hunter2@mail.example' }, []],
    ['not mail to this machine', { SMTP_URL: 'smtp://me:hunter2@127.0.0.1' }, []],
    [
      'files in plaintext',
      { S3_ENDPOINT: 'http://minio.example:9000', S3_BUCKET: 'shop' },
      [/^S3_ENDPOINT: .* minio\.example:9000 in plaintext/],
    ],
    [
      'files of clients in plaintext',
      { S3_ENDPOINT: 'https://minio', S3_PUBLIC_ENDPOINT: 'http://minio.example', S3_BUCKET: 'shop' },
      [/^S3_PUBLIC_ENDPOINT: .* minio\.example in plaintext/],
    ],
    ['not files over TLS', { S3_ENDPOINT: 'https://minio.example', S3_BUCKET: 'shop' }, []],
    ['not files on this machine', { S3_ENDPOINT: 'http://[::1]:9000', S3_BUCKET: 'shop' }, []],
  ] as const)
    test(what, async (t) => {
      const app = await assemble(t, {
        environment: { SIXWIRE_SANDBOX: 'off', APP_URL: 'https://shop.example', ...environment },
      })
      assert.equal(app.warnings.length, lines.length, app.warnings.join('\n'))
      for (const [at, line] of lines.entries()) {
        assert.match(app.warnings[at]!, line)
        assert.doesNotMatch(app.warnings[at]!, /\n|hunter2/)
      }
    })

  for (const [databaseUrl, environment, isWarning] of [
    ['postgres://me:hunter2@db.example/shop', {}, true],
    ['postgres://me:hunter2@db.example/shop?sslmode=disable', { PGSSLMODE: 'require' }, true],
    ['postgres://me:hunter2@db.example/shop?sslmode=prefer', {}, true],
    ['postgres://me:hunter2@db.example/shop', { PGSSLMODE: 'require' }, false],
    ['postgres://me:hunter2@db.example/shop?sslmode=require', {}, false],
    ['postgres://me:hunter2@db.example/shop?ssl=true', {}, false],
    ['postgres://me:hunter2@[::1]:5432/shop', {}, false],
    ['postgres:///shop?host=/var/run/postgresql', {}, false],
  ] as const)
    test(`${isWarning ? 'plaintext' : 'no plaintext'} to ${databaseUrl} with ${JSON.stringify(environment)}`, async (t) => {
      const lines = warningsOf(await settings(t, { DATABASE_URL: databaseUrl }), environment)
      assert.equal(lines.length, isWarning ? 1 : 0, lines.join('\n'))
      if (isWarning) assert.match(lines[0]!, /^DATABASE_URL: .* db\.example in plaintext: add \?sslmode=/)
      assert.doesNotMatch(lines.join('\n'), /hunter2/)
    })
})
