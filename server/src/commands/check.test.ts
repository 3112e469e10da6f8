// `sixwire check` asks the providers, each over its own protocol; a command opens no port.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { Server } from 'node:net'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { runHere } from '../testing/command.ts'
import { temporaryFolder } from '../testing/engines.ts'
import { freePort } from '../testing/free-port.ts'
import { startMailServer } from '../testing/mail-server.ts'
import { applicationFolder, startProgram } from '../testing/program.ts'
import { startSilence } from '../testing/silence.ts'
import { until } from '../testing/until.ts'
import { environmentOf, startTextServer } from '../wires/messaging/providers.fixture.ts'

/** The address of a mail server that takes mail from one user only, as that user or with another password. */
async function guardedMailServer(t: TestContext, password = 'the right word'): Promise<string> {
  const { port } = await startMailServer(t, { accounts: { shop: 'the right word' } })
  return `smtp://shop:${encodeURIComponent(password)}@127.0.0.1:${port}`
}

async function run(t: TestContext, words: string[], environment: Record<string, string>, config?: string) {
  const folder = await applicationFolder(t, config === undefined ? {} : { 'sixwire.config.ts': config })
  const listen = t.mock.method(Server.prototype, 'listen')
  const result = await runHere(words, { folder, environment })
  assert.equal(listen.mock.callCount(), 0, 'no port is opened')
  listen.mock.restore()
  return result
}
const check = (t: TestContext, environment: Record<string, string>, config?: string) =>
  run(t, ['check'], environment, config)

const SHOP = (body: string): string => `
import { defineConfig, defineWire } from 'sixwire'
const shop = defineWire({ name: 'shop', setup: () => ({ routes: [], service: undefined, ${body} }) })
export default defineConfig({ wires: [shop()] })
`

/** What `sixwire check` asks, in its order. */
const WORKING = [
  'configuration',
  'database',
  'policy',
  'core',
  'messaging',
  'onchain',
  'auth',
  'pay',
  'store',
  'store: uploads in local',
  'store: backups in local',
  'shop',
]

describe('the whole of an application', () => {
  const checkShop = async (t: TestContext, health: string, environment: Record<string, string> = {}) => {
    const folder = await applicationFolder(t, { 'sixwire.config.ts': SHOP(health) })
    return runHere(['check'], { folder, environment })
  }

  test('says of everything that it works', async (t) => {
    const { code, output, errors } = await checkShop(t, '')
    assert.equal(code, 0, errors)
    assert.equal(errors, '')
    assert.equal(output, WORKING.map((name) => `ok      ${name}\n`).join(''))
  })

  test('names what does not, and why', async (t) => {
    const { code, output } = await checkShop(
      t,
      `health: () => { throw new Error('the key of the provider was refused') }`,
    )
    assert.equal(code, 1)
    assert.match(output, /^ok {6}store$/m)
    assert.match(output, /^failed {2}shop: the key of the provider was refused$/m)
  })

  test('says the same as one JSON document', async (t) => {
    const folder = await applicationFolder(t, {
      'sixwire.config.ts': SHOP(`health: () => { throw new Error('the key was refused') }`),
    })
    const environment = { SIXWIRE_SECRET: 'of little use, '.repeat(3) }
    const { code, output } = await runHere(['check', '--json'], { folder, environment })
    assert.equal(code, 1)
    const { ok, checks, warnings } = JSON.parse(output)
    assert.equal(ok, false)
    assert.deepEqual(
      checks.map(({ name }: { name: string }) => name),
      WORKING,
    )
    assert.deepEqual(checks.at(-1), { name: 'shop', ok: false, fault: 'the key was refused' })
    assert.match(warnings[0], /^SIXWIRE_SECRET: /)
  })

  test('does not wait for what never answers', async (t) => {
    const { code, output } = await checkShop(t, `health: () => new Promise(() => undefined)`)
    assert.equal(code, 1)
    assert.match(output, /^failed {2}shop: it has not answered for 5 seconds$/m)
  })

  for (const [environment, line] of [
    [{ PORT: 'abc' }, /^sixwire: PORT: "abc" is not a port: [^\n]+\n$/],
    [{ DATABASE_URL: 'postgres://me:x@127.0.0.1:1/x' }, /^sixwire: DATABASE_URL: no PostgreSQL [^\n]+\n$/],
  ] as const)
    test(`is refused in one line for ${JSON.stringify(environment)}`, async (t) => {
      const folder = await applicationFolder(t, { 'sixwire.config.ts': SHOP('') })
      const { code, output, errors } = await runHere(['check'], { folder, environment })
      assert.equal(code, 1)
      assert.equal(output, '')
      assert.match(errors, line)
    })
})

test('a command whose reader has gone ends without a word', async (t) => {
  const folder = await temporaryFolder(t)
  const program = startProgram(t, ['check'], { folder })
  program.closeOutput()
  await program.ended
  assert.doesNotMatch(program.errors(), /EPIPE/)
})

test('a server whose reader has gone goes on', async (t) => {
  const folder = await applicationFolder(t, {
    'sixwire.config.ts': `
      import { writeFileSync } from 'node:fs'
      process.stdout.on('error', () => writeFileSync('has-no-reader', ''))
      setInterval(() => console.log('a line of the application'), 20)
      export default {}`,
  })
  const port = await freePort()
  const program = startProgram(t, ['start'], {
    folder,
    environment: { PORT: String(port), SIXWIRE_SANDBOX: 'off' },
  })
  await program.until(/a line of the application/)
  program.closeOutput()
  await until(() => existsSync(join(folder, 'has-no-reader')))
  await until(() =>
    fetch(`http://localhost:${port}/health`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
})

test('a line of .env that is ignored is named', async (t) => {
  const text = '# of this machine\nPORT: 3911\n\nexport A=1\nB="one\n two\n"\nloose\n'
  const folder = await applicationFolder(t, { '.env': text })
  const { errors } = await runHere(['config'], { folder, environment: {} })
  assert.deepEqual(errors.match(/line \d+/g), ['line 2', 'line 8'])
  assert.match(errors, /^sixwire: line 2 of \.env is ignored: write NAME=value$/m)
})

describe('sixwire check', () => {
  test('says of each provider that it answers and knows us', async (t) => {
    const texts = await startTextServer(t)
    const { code, output, errors } = await check(t, {
      SMTP_URL: await guardedMailServer(t),
      ...environmentOf(undefined, texts),
    })
    assert.equal(code, 0, output + errors)
    assert.equal(errors, '')
    assert.match(
      output,
      /^ok {6}messaging\nok {6}messaging: email by smtp\nok {6}messaging: sms by twilio\nok {6}messaging: whatsapp by twilio\n/m,
    )
  })

  test('says of one that does not know us what it answered, and no password', async (t) => {
    const { code, output } = await check(t, { SMTP_URL: await guardedMailServer(t, 'a wrong word') })
    assert.equal(code, 1)
    assert.match(output, /^ok {6}messaging$/m)
    assert.match(output, /^failed {2}messaging: email by smtp: 127\.0\.0\.1:\d+: .*535.*$/m)
    assert.doesNotMatch(output, /wrong/)
  })

  test('says of one that is out of reach where it was looked for', async (t) => {
    const port = await freePort()
    const { code, output } = await check(t, {
      SMTP_URL: `smtp://127.0.0.1:${port}`,
      S3_ENDPOINT: `http://127.0.0.1:${port}`,
      S3_BUCKET: 'shop',
      S3_ACCESS_KEY_ID: 'an-access-key',
      S3_SECRET_ACCESS_KEY: 'a-secret-key',
    })
    assert.equal(code, 1)
    assert.match(output, new RegExp(`^failed  messaging: email by smtp: 127\\.0\\.0\\.1:${port}: .+$`, 'm'))
    for (const storage of ['uploads', 'backups'])
      assert.match(output, new RegExp(`^failed  store: ${storage} in s3: .*127\\.0\\.0\\.1:${port}.*$`, 'm'))
    assert.doesNotMatch(output, /an-access-key|a-secret-key/)
  })

  test('says that live keys of a payment provider need a policy that was chosen', async (t) => {
    const { code, output, errors } = await check(t, { STRIPE_SECRET_KEY: 'sk_live_1234' })
    assert.equal(code, 1)
    assert.match(output + errors, /^\S*.*SIXWIRE_POLICY: it is not set.*stripe.*$/m)
    assert.doesNotMatch(output + errors, /sk_live/)
  })

  test('asks each of several, all at once, and waits for none of them for ever', async (t) => {
    const silent = await startSilence(t)
    const { code, output } = await check(
      t,
      {},
      `import { defineConfig } from 'sixwire'
       import { smtp } from 'sixwire/smtp'
       export default defineConfig({ messaging: { email: [
         smtp({ url: 'smtp://${silent.host}' }),
         smtp({ url: '${await guardedMailServer(t)}' }),
         smtp({ url: 'smtp://${silent.host}' }),
       ] } })`,
    )
    assert.equal(code, 1)
    const lines = output.split('\n').filter((line) => line.includes('by smtp'))
    assert.equal(lines.length, 3, output)
    assert.match(lines[0]!, /^failed {2}messaging: email by smtp \(1 of 3\): ./)
    assert.equal(lines[1], 'ok      messaging: email by smtp (2 of 3)')
    assert.match(lines[2]!, /^failed {2}messaging: email by smtp \(3 of 3\): ./)
  })

  test('refuses what a start refuses', async (t) => {
    const { code, output, errors } = await check(t, { LOG_LEVEL: 'verbose' })
    assert.deepEqual([code, output], [1, ''])
    assert.match(errors, /^sixwire: LOG_LEVEL: "verbose" is not one of trace, .*\n$/)
  })

  test('warns of what a start warns of', async (t) => {
    const secret = 'of little use, '.repeat(3)
    const { code, output } = await check(t, { SIXWIRE_SECRET: secret, SIXWIRE_SANDBOX: 'off' })
    assert.equal(code, 0)
    assert.match(output, /^ok {6}configuration\nwarning SIXWIRE_SECRET: it has too little variety.*\nok /)
  })

  test('does not ask what the sandbox stands in for', async (t) => {
    const { code, output } = await check(t, {})
    assert.equal(code, 0)
    assert.doesNotMatch(output, /email|sms|whatsapp/)
    assert.match(output, /^ok {6}store\nok {6}store: uploads in local\nok {6}store: backups in local$/m)
  })
})

describe('no port is opened', () => {
  for (const words of ['check', 'user list', 'key list', 'template list', 'template preview magic-link'])
    test(`by sixwire ${words}`, async (t) => {
      const { code, errors } = await run(t, words.split(' '), { SIXWIRE_SANDBOX: 'on' })
      assert.deepEqual([code, errors], [0, ''])
    })
})
