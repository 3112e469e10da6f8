import assert from 'node:assert/strict'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { openDatabase } from '../db/open.ts'
import { sql } from '../db/sql.ts'
import { runHere } from '../testing/command.ts'
import { endOfSuite, someEngine, temporaryFolder } from '../testing/engines.ts'
import { runProgram, startProgram, type ProgramOptions } from '../testing/program.ts'
import { isGroup } from './command.ts'
import { COMMANDS, loadCommands } from './commands.ts'

const NAMES = Object.keys(COMMANDS)

/** What a command prints, without the end of its last line. */
async function say(...words: string[]) {
  const { code, output, errors } = await runHere(words)
  return { code, output: output.trimEnd(), errors: errors.trimEnd() }
}

describe('help', () => {
  for (const words of [[], ['help'], ['--help'], ['-h']])
    test(`sixwire ${words.join(' ')} tells of every command`, async () => {
      const { code, output, errors } = await say(...words)
      assert.equal(code, 0)
      assert.equal(errors, '')
      assert.match(output, /^Usage: sixwire <command>/m)
      for (const command of NAMES) assert.match(output, new RegExp(`^  ${command} +[A-Z]`, 'm'))
    })

  for (const command of NAMES)
    test(`sixwire ${command} --help says what it does and how it is written`, async () => {
      const { code, output } = await say(command, '--help')
      assert.equal(code, 0)
      assert.match(output, new RegExp(`^[A-Z].*\n\nUsage: sixwire ${command}\\b[^]*?\n\n[ A-Za-z]`))
      for (const line of output.split('\n')) assert.ok(line.length <= 120, line)
      assert.equal((await say(command, '-h')).output, output)
      assert.equal((await say('help', command)).output, output)
    })

  test('of an action has its options alone, in the words of the help of all', async () => {
    const whole = (await say('backup', '--help')).output
    const { code, output } = await say('backup', 'create', '--help')
    assert.equal(code, 0)
    assert.match(
      output,
      /^Make .*\n\nUsage: sixwire backup create \[--to FILE\] \[--json\]\n\n {2}--to FILE {2}/,
    )
    assert.doesNotMatch(output, /--yes/)
    for (const [line] of output.matchAll(/--to FILE .+/g)) assert.ok(whole.includes(line))
    assert.equal((await say('help', 'backup', 'create')).output, output)
  })

  test('of every option and action is a text that says something', async () => {
    for (const command of Object.values(await loadCommands())) {
      const actions = isGroup(command) ? Object.values(command.actions) : [command]
      for (const { summary, options = {} } of actions) {
        assert.match(summary, /^[A-Z].+[^.]$/)
        for (const { description } of Object.values(options)) assert.match(description, /^[a-zA-Z].+[^.]$/)
      }
    }
  })
})

describe('words that make no command', () => {
  test('sixwire strat', async () => {
    assert.match(
      (await say('strat')).errors,
      /^sixwire: there is no command "strat".*: did you mean start\?$/,
    )
  })

  for (const [words, line] of [
    ['user lst', /^sixwire user: "lst" is not an action: .*: did you mean list\?\n/],
    ['user list --limt 3', /^sixwire user list: there is no option --limt: did you mean --limit\?\n/],
    ['start --prot=3', /^sixwire start: there is no option --prot: did you mean --port\?\n/],
    ['start --port abc', /^sixwire start: --port: "abc" is not a port: /],
    ['start --port', /^sixwire start: .*--port/],
    ['user list --json=yes', /^sixwire user list: .*--json/],
    ['user promote', /^sixwire user promote: EMAIL is missing\n\nUsage: sixwire user promote EMAIL/],
    ['constructor', /there is no command/],
    ['user constructor', /"constructor" is not an action/],
    ['user list --constructor', /there is no option --constructor\n/],
  ] as const)
    test(`sixwire ${words}, with what was likely meant`, async () => {
      const { code, output, errors } = await say(...words.split(' '))
      assert.deepEqual([code, output], [2, ''])
      assert.match(errors, line)
    })

  for (const name of ['nonsense', 'constructor', 'toString', '__proto__', ''])
    test(`sixwire ${name || '""'}`, async () => {
      const { code, output, errors } = await say(name)
      assert.equal(code, 2)
      assert.equal(output, '')
      assert.equal(errors, `sixwire: there is no command "${name}". The commands are ${NAMES.join(', ')}.`)
    })

  for (const words of [
    'help nonsense',
    'start now',
    'dev now',
    'check all',
    'version 2',
    'start --port 65536',
    'start --host',
    'start -x',
    'user',
    'user frob',
    'user promote',
    'user promote a@example.com b@example.com',
    'user list a b',
    'user list --all',
    'user sign-out',
    'user sign-out a@example.com --all',
    'user list --limit',
    'user list --limit x',
    'user list --limit -1',
    'user list --offset 1.5',
    'key',
    'key frob x',
    'key list all',
    'key create',
    'key create name',
    'key create name --scope',
    'key create name other --scope *',
    'key revoke',
    'key revoke a b',
    'jobs',
    'jobs frob',
    'jobs list all',
    'jobs list --limit 0',
    'jobs retry',
    'jobs retry a --kind b',
    'jobs retry a b',
    'jobs retry a --json',
    'jobs drop',
    'audit list --since yesterday',
    'jobs drop a --kind b',
    'secret',
    'secret show',
    'secret rotate now',
  ])
    test(`sixwire ${words}`, async () => {
      const { code, output, errors } = await say(...words.split(' '))
      assert.equal(code, 2, errors)
      assert.equal(output, '')
      const [command = ''] = words.split(' ')
      if (command !== 'help')
        assert.match(errors, new RegExp(`^sixwire ${command}( [a-z-]+)?: .+\n\nUsage: sixwire ${command}\\b`))
    })

  test('an unknown command ends the program with 2, and version, --version and -v print the version', async (t) => {
    const folder = await temporaryFolder(t)
    assert.equal((await runProgram(t, ['nonsense'], { folder })).code, 2)
    const manifest = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
    const output = `sixwire ${manifest.version} (node ${process.version})\n`
    for (const word of ['version', '--version', '-v'])
      assert.deepEqual(await runHere([word]), { code: 0, output, errors: '' })
    const asJson = JSON.parse((await runHere(['version', '--json'])).output)
    assert.deepEqual(asJson, { version: manifest.version, node: process.version })
  })
})

someEngine((engine) => {
  describe('beside a running server', () => {
    let url: string
    let options: ProgramOptions
    let databaseUrl: string
    const ending = endOfSuite()
    before(async () => {
      const folder = await temporaryFolder(ending)
      // The address stands where the commands and the server both find it.
      databaseUrl = await engine.migratedUrl()
      await writeFile(
        join(folder, '.env'),
        `DATABASE_URL=${databaseUrl}\nDATA_DIR=kept\nSIXWIRE_SANDBOX=off\n`,
      )
      await writeFile(
        join(folder, 'sixwire.config.mjs'),
        `export default { name: 'shop', policy: 'guarded', auth: { bcryptCost: 4 } }\n`,
      )
      options = { folder }
      url = await startProgram(ending, ['start'], options).url()
    })
    const events: { event: string; role?: string }[] = []
    const command = async (...words: string[]) => {
      const { code, output, errors } = await runHere(words, { folder: options.folder })
      assert.equal(code, 0, errors)
      // Nothing but events of accounts, for what collects the logs.
      for (const line of errors.split('\n').filter(Boolean)) events.push(JSON.parse(line))
      return output
    }
    const refusedLine = async (...words: string[]) => {
      const { code, output, errors } = await runHere(words, { folder: options.folder })
      assert.equal(code, 1)
      assert.equal(output, '')
      assert.match(errors, /^sixwire: [^\n]+\n$/)
      return errors
    }
    const send = async (method: string, path: string, token?: string, body?: unknown) => {
      const response = await fetch(url + path, {
        method,
        headers: {
          ...(token && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, body: text && JSON.parse(text) }
    }
    const PASSWORD = 'correct horse battery'

    test('sixwire user changes roles and disables accounts, which a running server applies at once', async () => {
      assert.equal(await command('user', 'list'), '(none)\n')
      // The first account outside production is the administrator; these are about the second one.
      await send('POST', '/auth/register', undefined, { email: 'first@example.com', password: PASSWORD })
      const account = { email: 'Ada@Example.com', password: PASSWORD }
      const { token } = (await send('POST', '/auth/register', undefined, account)).body
      const me = async () => (await send('GET', '/auth/me', token)).body.user.role
      assert.equal(await me(), 'user')

      const [promoted, warning, ...rest] = (await command('user', 'promote', 'ada@example.com')).split('\n')
      assert.match(
        promoted!,
        /^Ada@Example\.com \(created \d+ \w+ ago, address NOT verified\) is an administrator now$/,
      )
      assert.match(warning!, /^Warning: the address is not verified, .+sixwire user verify Ada@Example\.com/)
      assert.match(warning!, /sixwire user demote Ada@Example\.com/)
      assert.deepEqual(rest, [''])
      assert.equal(await me(), 'admin')
      await command('user', 'verify', 'ada@example.com')
      assert.match(
        await command('user', 'promote', 'ada@example.com'),
        /^Ada@Example\.com \(created \d+ \w+ ago, address verified\) is an administrator now\n$/,
      )
      const list = await command('user', 'list')
      assert.match(
        list,
        /^EMAIL +ROLE +VERIFIED +STATE +CREATED +ID\nAda@Example\.com +admin +yes +active +20\d\d-/,
      )
      const { accounts, total } = JSON.parse(await command('user', 'list', '--limit', '1', '--json'))
      assert.deepEqual(
        [accounts.length, accounts[0].email, accounts[0].role, total],
        [1, 'Ada@Example.com', 'admin', 2],
      )
      assert.match(await command('user', 'list', '--limit', '1'), /Ada@Example\.com[^\n]*\n\n1 of 2\n$/)
      assert.match(await command('user', 'list', '--limit=1', '--offset=1'), /\nfirst@example\.com/)
      await command('user', 'demote', 'ada@example.com')
      assert.equal(await me(), 'user')
      assert.deepEqual(
        events.map(({ event, role }) => [event, role]),
        [
          ['role-changed', 'admin'],
          ['address-verified', 'admin'],
          ['role-changed', 'user'],
        ],
      )

      assert.equal(await command('user', 'disable', 'ada@example.com'), 'Ada@Example.com is disabled\n')
      assert.equal((await send('GET', '/auth/me', token)).status, 401)
      assert.notEqual((await send('POST', '/auth/login', undefined, account)).status, 200)
      await command('user', 'enable', 'ada@example.com')
      assert.equal((await send('POST', '/auth/login', undefined, account)).status, 200)
      assert.match(await refusedLine('user', 'promote', 'nobody@example.com'), /nobody@example\.com/)

      const signIn = async () => (await send('POST', '/auth/login', undefined, account)).body.token
      const [one, two] = [await signIn(), await signIn()]
      assert.match(
        await command('user', 'sign-out', 'ada@example.com'),
        /^3 sessions ended of ada@example\.com\n$/,
      )
      for (const as of [one, two]) assert.equal((await send('GET', '/auth/me', as)).status, 401)
      const three = await signIn()
      assert.match(await command('user', 'sign-out', '--all'), /^\d+ sessions ended of all accounts\n$/)
      assert.equal((await send('GET', '/auth/me', three)).status, 401)
      assert.match(await refusedLine('user', 'sign-out', 'nobody@example.com'), /nobody@example\.com/)
    })

    test('sixwire user creates accounts and sets passwords, which are nowhere but where they belong', async (t) => {
      const signIn = (email: string, password: string) =>
        send('POST', '/auth/login', undefined, { email, password })
      const made = JSON.parse(await command('user', 'create', 'op@example.com', '--admin', '--json'))
      assert.deepEqual([made.email, made.role, made.emailVerified], ['op@example.com', 'admin', true])
      assert.equal((await signIn('op@example.com', made.password)).status, 200)

      const words = ['user', 'set-password', 'op@example.com', '--password-stdin']
      const set = await runProgram(t, words, { ...options, input: 'typed by hand\n' })
      assert.deepEqual([set.code, set.output], [0, 'op@example.com is active, with the role admin\n'])
      assert.doesNotMatch(set.errors, /typed by hand/)
      assert.equal((await signIn('op@example.com', made.password)).status, 401)
      assert.equal((await signIn('op@example.com', 'typed by hand')).status, 200)
      const other = ['user', 'create', 'other@example.com']
      const refused = await runHere([...other, '--password-stdin'], { ...options, input: 'short\n' })
      assert.deepEqual([refused.code, refused.output], [1, ''])
      assert.match(refused.errors, /^sixwire: password: Use at least 8 characters\.\n$/)

      const piped = await runHere(other, { ...options, input: 'a password of mine\n' })
      assert.deepEqual([piped.code, piped.output], [1, ''])
      assert.match(piped.errors, /^sixwire: standard input has text: add --password-stdin if .+\n$/)
      assert.doesNotMatch(await command('user', 'list'), /other@/)

      const [password, , told] = (await command('user', 'set-password', 'op@example.com')).split('\n')
      assert.match(told!, /^The password is shown once\. op@example\.com is active/)
      assert.equal((await signIn('op@example.com', password!)).status, 200)
      assert.equal(
        await command('user', 'set-email', 'op@example.com', 'Ops@example.com'),
        'op@example.com is Ops@example.com now, and not verified yet\n',
      )
      assert.match(await refusedLine('user', 'set-email', 'ops@example.com', 'nobody'), /email: Write one/)
      assert.equal(
        await command('user', 'set-email', 'ops@example.com', 'op@example.com', '--verified'),
        'ops@example.com is op@example.com now, verified\n',
      )
      assert.equal((await signIn('op@example.com', password!)).status, 200)
      assert.match(await command('user', 'list', 'op@'), /^EMAIL.*\nop@example\.com +admin +yes[^\n]*\n$/)
    })

    test('sixwire key makes a key that opens at once what its scope has, until it is revoked', async () => {
      const made = await command('key', 'create', 'my backend', '--scope', 'store:read', '--scope', 'core')
      const [key = '', , told = ''] = made.split('\n')
      assert.match(key, /^sk_[\w-]{43}$/)
      const id = /Its id is (\w+)\.$/.exec(told)![1]!
      assert.equal((await send('GET', '/store/books', key)).status, 200)
      assert.equal((await send('POST', '/store/books', key, {})).status, 403)
      const list = await command('key', 'list')
      assert.match(list, new RegExp(`^${id} +my backend +store:read core +20.* active$`, 'm'))
      assert.ok(!list.includes(key))
      const [listed] = JSON.parse(await command('key', 'list', '--json'))
      assert.deepEqual(
        [listed.id, listed.name, listed.scopes, listed.revokedAt],
        [id, 'my backend', ['store:read', 'core'], null],
      )
      assert.equal(await command('key', 'revoke', id), `${id} is revoked\n`)
      assert.equal((await send('GET', '/store/books', key)).status, 401)
      assert.match(await command('key', 'list'), / revoked$/m)
      assert.match(await refusedLine('key', 'revoke', 'nothing'), /nothing/)
      assert.match(
        await refusedLine('key', 'create', 'x', '--scope', 'stor'),
        /--scope stor: it must be \* or begin with a wire that is loaded: core, messaging, onchain, auth, pay, store$/m,
      )
      assert.match(
        await refusedLine('key', 'create', 'x', '--scope', 'store:write'),
        /--scope store:write: it must be one of store, store:read, store:backup$/m,
      )
    })

    test('sixwire jobs lists what failed for good, and has the server do it after all', async (t) => {
      const jobsOf = async (...words: string[]) =>
        JSON.parse(await command('jobs', 'list', '--json', ...words)) as Record<string, unknown>[]
      const recurring = await command('jobs', 'list', '--kind', 'sixwire.clean')
      assert.match(
        recurring,
        /^ID +KIND +STATE +ATTEMPTS +RUN AT +ERROR\nevery-sixwire\.clean +sixwire\.clean +ready +0 +20\d\d-/,
      )
      // The mail of an account that is gone by now: it fails only as long as its payload is wrong.
      const db = await openDatabase(databaseUrl)
      t.after(() => db.close())
      const insert = (id: string, payload: string) => sql`
        insert into sixwire_jobs (id, kind, payload, state, run_at, attempts, created_at)
        values (${id}, 'auth.notice', ${payload}, 'ready', 0, 0, 0)`
      await db.batch(['job1', 'job2', 'job3'].map((id) => insert(id, '{"userId":1}')))
      const states = async () =>
        (await db.all<{ state: string }>(sql`select state from sixwire_jobs where kind = 'auth.notice'`)).map(
          ({ state }) => state,
        )
      while ((await states()).some((state) => state !== 'failed')) await delay(50)
      const [failed] = await jobsOf('--failed', '--limit', '1')
      const { createdAt, runAt, ...rest } = failed!
      assert.match(`${String(createdAt)} ${String(runAt)}`, /^1970-\S+ 20\d\d-\S+$/)
      assert.deepEqual(rest, {
        id: 'job1',
        kind: 'auth.notice',
        lane: null,
        state: 'failed',
        attempts: 1,
        attemptsMax: 10,
        startedAt: null,
        error: 'the payload of a job auth.notice does not fit its schema: /at is required',
        payload: { userId: 1 },
        canRetry: true,
        canDiscard: true,
      })
      const metrics = await (await fetch(`${url}/metrics`)).text()
      assert.match(metrics, /^sixwire_jobs\{kind="auth\.notice",state="failed"\} 3$/m)
      assert.match(metrics, /^sixwire_jobs\{kind="sixwire\.clean",state="ready"\} 1$/m)

      assert.equal(await command('jobs', 'drop', 'job3'), 'job3 is dropped\n')
      await db.write(
        sql`update sixwire_jobs set payload = '{"userId":"nobody","at":0,"template":"password-changed","details":{}}' where state = 'failed'`,
      )
      assert.equal(await command('jobs', 'retry', 'job1'), '1 job is ready again\n')
      assert.equal(await command('jobs', 'retry', '--kind', 'auth.notice'), '1 job is ready again\n')
      while ((await states()).length > 0) await delay(50)
      assert.equal(await command('jobs', 'list', '--failed'), '(none)\n')

      assert.match(await refusedLine('jobs', 'retry', 'job1'), /There is no job "job1"/)
      assert.match(await refusedLine('jobs', 'retry', '--kind', 'x'), /No failed job matches/)
      assert.match(await refusedLine('jobs', 'drop', 'job1'), /There is no job "job1"/)
      assert.match(await refusedLine('jobs', 'drop', 'every-sixwire.clean'), /recurs/)
    })

    test('sixwire audit lists what was done, by whom, and until when', async () => {
      const since = new Date(Date.now() - 60_000).toISOString()
      const { id } = JSON.parse(await command('key', 'create', 'audited', '--scope', 'store', '--json'))
      await command('key', 'revoke', id)
      const text = await command('audit', 'list', '--target', `key:${id}`)
      assert.match(
        text,
        /^TIME +ACTION +TARGET +ACTOR +FROM\n\S+ +key\.revoked +key:\w+ +command\n\S+ +key\.created /,
      )
      const listed = JSON.parse(
        await command('audit', 'list', '--action', 'key.*', '--since', since, '--limit', '1', '--json'),
      ) as { action: string; before: object }[]
      assert.deepEqual(
        listed.map(({ action, before }) => ({ action, before })),
        [{ action: 'key.revoked', before: { name: 'audited', scopes: ['store'] } }],
      )
      assert.equal(await command('audit', 'list', '--until', '1970-01-02T00:00:00Z'), '(none)\n')
    })

    test('the real program finds it well, works on it, and refuses in one line', async (t) => {
      const program = (...words: string[]) => runProgram(t, words, options)
      assert.match((await program('check')).output, /^ok {6}auth$/m)
      const made = await program('key', 'create', 'mine', '--scope', 'store:read')
      assert.equal(made.code, 0, made.errors)
      const [key = ''] = made.output.split('\n')
      assert.equal((await send('GET', '/store/books', key)).status, 200)
      const { code, output, errors } = await program('key', 'revoke', 'nothing')
      assert.equal(code, 1)
      assert.equal(output, '')
      assert.match(errors, /^sixwire: [^\n]+\n$/)
    })
  })

  test('where auth is not loaded there are no accounts to list', async (t) => {
    const folder = await temporaryFolder(t)
    const { code, errors } = await runHere(['user', 'list'], {
      folder,
      environment: { SIXWIRE_WIRES: 'core', DATABASE_URL: await engine.migratedUrl() },
    })
    assert.equal(code, 1)
    assert.equal(errors, 'sixwire: SIXWIRE_WIRES: auth is not loaded\n')
  })
})

test('the environment wins over .env, and .env over the configuration file', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'sixwire.config.mjs'), `export default { logLevel: 'loud', policy: 'closed' }`)
  const said = async (environment: Record<string, string>) =>
    (await runHere(['check'], { folder, environment })).errors
  assert.match(await said({ LOG_LEVEL: '' }), /policy: "closed"|logLevel: "loud"/)
  await writeFile(join(folder, '.env'), 'SIXWIRE_POLICY=shut\nLOG_LEVEL=warn\n')
  assert.match(await said({}), /SIXWIRE_POLICY: "shut"/)
  assert.equal(await said({ SIXWIRE_POLICY: 'open' }), '')
  await writeFile(join(folder, '.env'), 'SIXWIRE_POLCY=guarded\n')
  assert.match(await said({}), /^sixwire: SIXWIRE_POLCY: .*: did you mean SIXWIRE_POLICY\?\n$/)
  await rm(join(folder, '.env'))
  await rename(join(folder, 'sixwire.config.mjs'), join(folder, '.env'))
  assert.equal((await runHere(['check'], { folder })).code, 0, 'whatever .env holds')
})
