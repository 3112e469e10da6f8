// The real program, from its start to its end.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { cp, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { promisify } from 'node:util'

import { createLifecycle } from './lifecycle.ts'
import { runHere } from '../../testing/command.ts'
import { someEngine, temporaryFolder, type Engine } from '../../testing/engines.ts'
import { freePort } from '../../testing/free-port.ts'
import { applicationFolder, startProgram, type Program } from '../../testing/program.ts'

const run = promisify(execFile)

/** A start without stand-ins takes half the time. */
const SOON = { SIXWIRE_SANDBOX: 'off' }

/** A wire whose call, and whose start where it is told so, ends when a file called `go-on` is there. */
const SLOW = `
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { defineConfig, defineWire, route, Type } from 'sixwire'

const goOn = async () => {
  while (!existsSync('go-on')) await delay(10)
}
const slow = defineWire({
  name: 'slow',
  setup({ db }) {
    // What a wire forgets must not keep the process.
    setInterval(() => undefined, 1000)
    return {
      service: undefined,
      routes: [
        route('GET /slow', { summary: 'Takes its time', access: 'public', reply: { 200: Type.Object({ done: Type.Boolean() }) } },
          async () => {
            console.log('the slow call has begun')
            await goOn()
            await db.ping()
            return { done: true }
          }),
      ] as const,
      async start() {
        if (!process.env['SLOW_START']) return
        console.log('the slow start has begun')
        await goOn()
        if (process.env['SLOW_START'] === 'fails') throw new Error('it came to nothing')
      },
    }
  },
})
export default defineConfig({ name: 'slow', version: '1.2.3', wires: [slow()] })
`

async function startSlow(
  t: TestContext,
  environment: Record<string, string> = {},
): Promise<{ program: Program; folder: string; goOn: () => Promise<void> }> {
  const folder = await applicationFolder(t, { 'sixwire.config.ts': SLOW })
  const program = startProgram(t, ['start'], { folder, environment: { ...SOON, ...environment } })
  return { program, folder, goOn: () => writeFile(join(folder, 'go-on'), '') }
}

const assertOneLine = (errors: string, line: RegExp): void => {
  assert.match(errors, line)
  assert.equal(errors.trimEnd().split('\n').length, 1, errors)
}

/** Asks until the answer is that of a server that drains. */
async function draining(url: string): Promise<Response> {
  for (;;) {
    const response = await fetch(`${url}/ready`)
    if (response.status === 503) return response
    await response.arrayBuffer()
  }
}

const start = async (t: TestContext, environment: Record<string, string> = {}) =>
  startProgram(t, ['start'], { folder: await temporaryFolder(t), environment: { ...SOON, ...environment } })

describe('an end that nothing comes to rest for', () => {
  test('is waited for 30 seconds, and no longer', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let ended = false
    const life = createLifecycle({
      quiet: () => new Promise(() => undefined),
      end: async () => void (ended = true),
    })
    const closed = life.close()
    assert.equal(life.close(), closed, 'asked again, it is the same end')
    assert.equal(life.stage(), 'draining')
    t.mock.timers.tick(29_999)
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(ended, false)
    t.mock.timers.tick(1)
    await closed
    assert.equal(ended, true)
  })

  test('is the same for a start that hangs', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const life = createLifecycle({ quiet: async () => undefined, end: async () => undefined })
    void life.begin(() => new Promise(() => undefined))
    const closed = life.close()
    t.mock.timers.tick(30_000)
    await closed
    assert.throws(() => life.ready(), /told to stop before it had started/)
    assert.equal(life.stage(), 'draining')
  })
})

describe('the banner', () => {
  test('says where it runs, for whom, with what, where the data is, and what to try, which works', async (t) => {
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, 'package.json'), '{"name":"shop","version":"4.5.6"}')
    const program = startProgram(t, ['start'], { folder })
    const url = await program.url()
    await program.until(/Ctrl-C ends it/)
    const banner = program.output()
    const local = url.replace('127.0.0.1', 'localhost')
    assert.ok(banner.includes(`shop 4.5.6 runs at ${local}\n`), banner)
    assert.match(banner, /policy +open: .*SIXWIRE_POLICY=guarded/)
    assert.match(banner, /wires +core, messaging, onchain, auth, pay, store\n/)
    assert.match(banner, /data +SQLite in data\/sixwire\.db\n/)
    assert.ok(banner.includes(`sandbox  ${local}/sandbox: `))
    assert.ok(banner.includes(`${local}/docs\n`))
    const command = /curl [\s\S]*?(?=\n +Ctrl-C)/.exec(banner)![0]
    const { stdout } = await run('bash', ['-c', command])
    assert.equal(JSON.parse(stdout).user.email, 'me@example.com')
    program.signal('SIGINT')
    assert.equal(await program.ended, 0)
    assert.equal(program.errors(), '')
  })

  test('is a line of the log in production, with the public address and what is not configured', async (t) => {
    const program = await start(t, {
      NODE_ENV: 'production',
      SIXWIRE_SANDBOX: '',
      HOST: '127.0.0.1',
      SIXWIRE_SECRET: 'of little use, '.repeat(3),
      SIXWIRE_POLICY: 'open',
      PUBLIC_URL: 'https://api.shop.example',
      SMTP_URL: 'smtp://127.0.0.1:1',
    })
    await program.url()
    const lines = program.lines().map((line) => JSON.parse(line))
    const line = lines.at(-1)
    assert.match(line.msg, /runs at http:\/\/localhost:\d+, publicly at https:\/\/api\.shop\.example$/)
    assert.deepEqual([line.level, line.publicUrl, line.policy], [30, 'https://api.shop.example', 'open'])
    assert.ok(line.notConfigured.includes('pay.stripe'), line.notConfigured)
    assert.ok(!line.notConfigured.includes('messaging.smtp'), line.notConfigured)
    const warned = lines.filter(({ level }) => level === 40).map(({ msg }) => /^\w+/.exec(msg)?.[0])
    assert.deepEqual(warned.slice(0, 2), ['SIXWIRE_POLICY', 'SIXWIRE_SECRET'])
  })

  test('does not propose to register where nobody can', async (t) => {
    const program = await start(t, { SIXWIRE_WIRES: 'core' })
    await program.until(/Ctrl-C ends it/)
    assert.doesNotMatch(program.output(), /auth/)
    assert.match(program.output(), /curl http:\/\/localhost:\d+\/health\n/)
  })
})

function lifeOn(engine: Engine): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    test(`${signal}: what is under way finishes, what is new is refused, and the exit code is 0`, async (t) => {
      const databaseUrl = await engine.migratedUrl()
      const { program, goOn } = await startSlow(t, { DATABASE_URL: databaseUrl })
      const url = await program.url()
      if (engine.name === 'postgres')
        assert.ok(!program.output().includes(new URL(databaseUrl).password), 'no password is printed')
      const slow = fetch(`${url}/slow`)
      await program.until(/the slow call has begun/)
      program.signal(signal)
      const ready = await draining(url)
      assert.deepEqual(await ready.json(), { ready: false, reason: 'The server is shutting down.' })
      const refused = await fetch(`${url}/auth/me`)
      assert.equal(refused.status, 503)
      assert.ok(Number(refused.headers.get('retry-after')) >= 1)
      assert.equal((await fetch(`${url}/health`)).status, 200)
      await goOn()
      const answered = await slow
      assert.equal(answered.status, 200)
      assert.deepEqual(await answered.json(), { done: true })
      assert.equal(await program.ended, 0)
      assert.equal(program.errors(), '')
      assert.match(program.output(), /"path":"\/slow","status":200/, 'the log is written to its end')
    })

  test('a second signal ends it at once', async (t) => {
    const { program } = await startSlow(t, { DATABASE_URL: await engine.migratedUrl() })
    const url = await program.url()
    const slow = assert.rejects(fetch(`${url}/slow`))
    await program.until(/the slow call has begun/)
    program.signal('SIGTERM')
    await draining(url)
    // One within a second of the first is the same signal.
    const insisting = setInterval(() => program.signal('SIGTERM'), 50)
    t.after(() => clearInterval(insisting))
    assert.equal(await program.ended, 1)
    await slow
  })

  test('two signals at one moment are one: what is under way finishes', async (t) => {
    const { program, goOn } = await startSlow(t, { DATABASE_URL: await engine.migratedUrl() })
    const url = await program.url()
    const slow = fetch(`${url}/slow`)
    await program.until(/the slow call has begun/)
    // Two of the same name that arrive together are one to the system already.
    program.signal('SIGTERM')
    program.signal('SIGINT')
    await draining(url)
    await goOn()
    assert.equal((await slow).status, 200)
    assert.equal(await program.ended, 0)
  })

  /** A server that is told to end while a wire starts; resolves once it knows. */
  async function toldWhileStarting(t: TestContext, start: string) {
    // Its port is not printed yet.
    const port = String(await freePort())
    const environment = { DATABASE_URL: await engine.migratedUrl(), SLOW_START: start, PORT: port }
    const { program, goOn } = await startSlow(t, environment)
    await program.until(/the slow start has begun/)
    program.signal('SIGTERM')
    const reason = async () => {
      const response = await fetch(`http://127.0.0.1:${port}/ready`)
      return ((await response.json()) as { reason: string }).reason
    }
    while ((await reason()) !== 'The server is shutting down.') continue
    return { program, goOn }
  }

  test('a signal during the start lets the step end that has begun, and no server comes of it', async (t) => {
    const { program, goOn } = await toldWhileStarting(t, 'works')
    await goOn()
    assert.equal(await program.ended, 0)
    assert.equal(program.errors(), '')
    assert.doesNotMatch(program.output(), /runs at/)
  })

  test('a start that fails after the signal is no failure any more', async (t) => {
    const { program, goOn } = await toldWhileStarting(t, 'fails')
    await goOn()
    assert.equal(await program.ended, 0)
    assert.equal(program.errors(), '')
  })
}
someEngine((engine) => {
  describe('the end', () => lifeOn(engine))
})

describe('a start that can not be', () => {
  test('on a port that is taken: one line, and exit code 1', async (t) => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    t.after(() => other.close())
    const { port } = other.address() as AddressInfo
    const program = await start(t, { PORT: String(port) })
    assert.equal(await program.ended, 1)
    assertOneLine(
      program.errors(),
      new RegExp(`^sixwire: PORT: another program listens at 127\\.0\\.0\\.1:${port} already`),
    )
  })

  for (const [environment, line] of [
    [{ PORT: 'abc' }, /^sixwire: PORT: "abc" is not a port/],
    [{ SIXWIRE_POLCY: 'guarded' }, /^sixwire: SIXWIRE_POLCY: .*: did you mean SIXWIRE_POLICY\?$/m],
    [{ DATABASE_URL: 'postgres://me:hidden@127.0.0.1:1/x' }, /^sixwire: DATABASE_URL: no PostgreSQL answers/],
    // Found out when the database is open already.
    [{ SIXWIRE_WIRES: 'store' }, /^sixwire: SIXWIRE_WIRES: store answers signed-in callers only/],
    [{ SIXWIRE_ADMINS: 'nobody' }, /^sixwire: SIXWIRE_ADMINS: "nobody"/],
    [{ NODE_ENV: 'production' }, /^sixwire: SIXWIRE_SECRET: it is required in production/],
  ] as const)
    test(`for ${JSON.stringify(environment)}: one line, and exit code 1`, async (t) => {
      const { code, errors } = await runHere(['start'], {
        folder: await temporaryFolder(t),
        environment: { ...SOON, ...environment },
      })
      assert.equal(code, 1)
      assertOneLine(errors, line)
      assert.doesNotMatch(errors, /hidden/)
    })

  test('for a configuration file that is broken: one line, with the place', async (t) => {
    const folder = await applicationFolder(t, {
      'sixwire.config.ts': 'export default {\n  port: missing,\n}\n',
    })
    const { code, errors } = await runHere(['start'], { folder })
    assert.equal(code, 1)
    assertOneLine(
      errors,
      /^sixwire: sixwire\.config\.ts: ReferenceError: missing is not defined \(sixwire\.config\.ts:2:\d+\)$/m,
    )
  })

  test('in a checkout without its packages: one line that says what to do', async (t) => {
    const folder = await temporaryFolder(t)
    for (const file of ['server/bin/sixwire.js', 'server/src/cli.ts', 'server/package.json'])
      await cp(new URL(`../../../../${file}`, import.meta.url), join(folder, file))
    await assert.rejects(
      run(process.execPath, [join(folder, 'server/bin/sixwire.js'), 'start']),
      (error: object) => {
        assert.equal((error as { code: number }).code, 1)
        assertOneLine(
          (error as { stderr: string }).stderr,
          /^sixwire: the packages of this checkout .*npm ci/,
        )
        return true
      },
    )
  })

  test('for a fault of an own wire: all of it, since that is what its author needs', async (t) => {
    const { program, goOn } = await startSlow(t, { SLOW_START: 'fails' })
    await goOn()
    assert.equal(await program.ended, 1)
    assert.match(program.errors(), /Error: it came to nothing\n +at .*sixwire\.config\.ts:\d+/)
  })
})

test('many servers that start at the same moment on an empty folder share one secret and one set of tables', async (t) => {
  const folder = await temporaryFolder(t)
  const programs = Array.from({ length: 3 }, () => startProgram(t, ['start'], { folder, environment: SOON }))
  const urls = await Promise.all(programs.map((program) => program.url()))
  const body = JSON.stringify({ email: 'ada@example.com', password: 'correct horse battery' })
  const made = await fetch(`${urls[0]}/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  const { token } = (await made.json()) as { token: string }
  for (const url of urls)
    assert.equal(
      (await fetch(`${url}/auth/me`, { headers: { authorization: `Bearer ${token}` } })).status,
      200,
    )
})
