// Several processes on one port, by the real program: they are to be one server for its clients and its operators.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'

import { openDatabase } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'
import { anyEngine, eachEngine, endOfSuite, temporaryFolder } from '../../testing/engines.ts'
import { runHere } from '../../testing/command.ts'
import { runProgram, type Program } from '../../testing/program.ts'
import { until } from '../../testing/until.ts'
import { Connection, connectionsToEach, startWorkers } from './workers.fixture.ts'

const PASSWORD = 'correct horse battery'
const ACCOUNT = { email: 'first@example.com', password: PASSWORD }

eachEngine((engine) => {
  describe('two workers are one server', () => {
    const ending = endOfSuite()
    let program: Program
    let folder: string
    let url: string
    let a: Connection
    let b: Connection
    let token: string

    before(async () => {
      ;({ program, folder } = await startWorkers(ending, await engine.migratedUrl()))
      url = await program.url()
      ;[a, b] = [...(await connectionsToEach(ending, url, 2)).values()] as [Connection, Connection]
      ;({ token } = await a.expect(201, 'POST', '/auth/register', { body: ACCOUNT }))
    })

    test('says once that it runs, and with how many processes', async () => {
      assert.match(program.output(), /workers {2}2 processes/)
      assert.equal(program.output().match(/runs at/g)?.length, 1)
    })

    test('a session that ends at one is over at the other', async () => {
      const session = await a.expect(200, 'POST', '/auth/login', { body: ACCOUNT })
      await b.expect(200, 'GET', '/auth/me', session)
      await a.expect(200, 'POST', '/auth/logout', { token: session.token, body: {} })
      await b.expect(401, 'GET', '/auth/me', session)
    })

    test('a service key that is revoked at one is refused at the other', async () => {
      const { key, _id } = await a.expect(201, 'POST', '/auth/keys', {
        token,
        body: { name: 'import', scopes: ['store'] },
      })
      await b.expect(200, 'GET', '/store/keyed', { token: key })
      await a.expect(200, 'DELETE', `/auth/keys/${_id}`, { token })
      await b.expect(401, 'GET', '/store/keyed', { token: key })
    })

    test('wrong passwords at both lock an address at both', async () => {
      const email = 'guessed@example.com'
      await a.expect(201, 'POST', '/auth/register', { body: { email, password: PASSWORD } })
      const attempt = async (connection: Connection, password: string) =>
        (await connection.send('POST', '/auth/login', { body: { email, password } })).status
      for (let guess = 0; guess < 5; guess++)
        assert.equal(await attempt(guess % 2 === 0 ? a : b, `wrong password ${guess}`), 401)
      for (const connection of [a, b]) assert.equal(await attempt(connection, PASSWORD), 423)
    })

    test('what was created at one under an Idempotency-Key is not created again at the other', async () => {
      const call = { token, body: { n: 1 }, key: 'order-1' }
      const first = await a.expect(201, 'POST', '/store/ordered', call)
      assert.deepEqual(await b.expect(201, 'POST', '/store/ordered', call), first)
      await b.expect(409, 'POST', '/store/ordered', { ...call, body: { n: 2 } })
    })

    test('settings and definitions are in force at both once they are answered', async () => {
      const { version } = await a.expect(200, 'GET', '/core/settings', { token })
      await a.expect(200, 'PATCH', '/core/settings', { token, body: { version, values: { name: 'Shop' } } })
      assert.equal((await b.expect(200, 'GET', '/info')).name, 'Shop')
      const schema = { type: 'object', properties: { n: { type: 'integer' } } }
      for (const [name, one, other] of [['first', a, b] as const, ['second', b, a] as const]) {
        await one.expect(200, 'PUT', `/store/collections/${name}`, { token, body: { schema } })
        await other.expect(400, 'POST', `/store/${name}`, { token, body: { n: 'none' } })
      }
    })

    test('a stream at one has what is written at the other, and both count those of a user', async () => {
      const aborted = new AbortController()
      const open = async () =>
        fetch(`${url}/store/changes?collection=followed`, {
          headers: { authorization: `Bearer ${token}` },
          signal: aborted.signal,
        })
      const streams = []
      for (let opened = 0; opened < 20; opened++) {
        const stream = await open()
        assert.equal(stream.status, 200)
        streams.push(stream)
      }
      for (let refused = 0; refused < 4; refused++) assert.equal((await open()).status, 429)
      const texts = streams.map(() => '')
      const reading = streams.map(async (stream, at) => {
        const decoder = new TextDecoder()
        for await (const bytes of stream.body!) texts[at] += decoder.decode(bytes, { stream: true })
      })
      await a.expect(201, 'POST', '/store/followed', { token, body: { from: 'one' } })
      await b.expect(201, 'POST', '/store/followed', { token, body: { from: 'other' } })
      await until(() => texts.every((text) => text.includes('"one"') && text.includes('"other"')))
      aborted.abort()
      await Promise.allSettled(reading)
      await until(async () => (await a.send('GET', '/metrics')).text.includes('\nsixwire_streams_open 0\n'))
    })

    test('what one counts of a limit in memory counts at the other', async () => {
      for (let call = 0; call < 100; call++) await a.expect(200, 'GET', '/probe/limited')
      let passed = 0
      await until(async () => {
        const { status } = await b.send('GET', '/probe/limited')
        if (status === 200) passed++
        return status === 429
      })
      assert.ok(passed < 90, `${passed} calls passed at the other`)
    })

    test('jobs run once', async () => {
      const ids = Array.from({ length: 20 }, (_, at) => `job${at}`)
      await Promise.all(
        ids.flatMap((id) => [
          a.expect(200, 'GET', `/probe/job/${id}a`),
          b.expect(200, 'GET', `/probe/job/${id}b`),
        ]),
      )
      const done = () => program.lines().filter((line) => line.startsWith('job '))
      await until(() => done().length >= 40)
      assert.equal(new Set(done()).size, 40)
      assert.equal(done().length, 40)
    })

    test('/metrics has the sum of both, and figures of the database once', async () => {
      const read = async (connection: Connection) => {
        const { text } = await connection.send('GET', '/metrics')
        const lineOf = (name: string) => text.split('\n').find((line) => line.startsWith(name))
        // A counter that has not begun is not there.
        const figure = (name: string) => Number(lineOf(name)?.split(' ')[1] ?? 0)
        return {
          calls: figure('http_request_duration_seconds_count{method="GET",path="/probe/pid",status="200"}'),
          figure: figure('probe_figure'),
          answered: figure('sixwire_workers{state="answered"}'),
          started: figure('process_start_time_seconds'),
        }
      }
      const earlier = await read(a)
      for (let call = 0; call < 30; call++) await (call % 3 === 0 ? a : b).pid()
      for (const connection of [a, b]) {
        const now = await read(connection)
        assert.equal(now.calls, earlier.calls + 30)
        assert.equal(now.figure, 7)
        assert.equal(now.answered, 2)
        assert.ok(now.started > 1e9)
      }
    })

    test('lines of the log are whole', async () => {
      await Promise.all([a, b, a, b].map((one) => one.expect(200, 'GET', '/probe/print')))
      const printed = () => program.lines().filter((line) => /^print x{9000,9049} end$/.test(line))
      await until(() => printed().length >= 200)
      for (const line of program.lines().filter((one) => one.includes('"time"'))) JSON.parse(line)
    })

    const counted = async (connection: Connection): Promise<number> => {
      const { text } = await connection.send('GET', '/metrics')
      return Number(/_count\{method="POST",path="\/store\/:collection",status="201"\} (\d+)/.exec(text)![1])
    }

    test('a worker that is killed is started again, and nothing that it acknowledged is lost', async () => {
      // A program that it has started has its output, which stays open.
      const { pid: killed } = await b.expect(200, 'GET', '/probe/child')
      const acknowledged: string[] = []
      let isOver = false
      const clients = Array.from({ length: 8 }, async () => {
        let connection = new Connection(url)
        while (!isOver)
          try {
            const { status, body } = await connection.send('POST', '/store/written', { token, body: {} })
            if (status === 201) acknowledged.push(body._id)
          } catch {
            connection = new Connection(url)
          }
        connection.close()
      })
      await until(() => acknowledged.length > 50)
      const earlier = await counted(a)
      // One of two connections is given to the process that stands still, which never accepts it.
      process.kill(killed, 'SIGSTOP')
      const given = [new Connection(url), new Connection(url)].map((one) => one.send('GET', '/ready'))
      await Promise.race(given)
      process.kill(killed, 'SIGKILL')
      await Promise.allSettled(given)
      await program.until(/"msg":"a worker ended \(SIGKILL\): it is started again"/)
      const after = await connectionsToEach(ending, url, 2)
      assert.ok(!after.has(killed))
      isOver = true
      await Promise.all(clients)
      const found = new Set<string>()
      for (let cursor = ''; ;) {
        const page = await a.expect(200, 'GET', `/store/written?limit=1000${cursor}`, { token })
        for (const { _id } of page.data) found.add(_id)
        if (page.nextCursor === undefined) break
        cursor = `&cursor=${page.nextCursor}`
      }
      assert.deepEqual(
        acknowledged.filter((id) => !found.has(id)),
        [],
      )
      for (const connection of after.values())
        assert.ok((await counted(connection)) >= earlier, 'no counter falls')
    })

    test('SIGTERM lets both finish what is under way', async () => {
      const each = [...(await connectionsToEach(ending, url, 2)).values()]
      const slow = each.map((one) => one.expect(200, 'GET', '/probe/slow'))
      await until(() => program.lines().filter((line) => line.startsWith('slow ')).length === 2)
      program.signal('SIGTERM')
      await until(async () => (await fetch(`${url}/ready`).catch(() => undefined))?.status !== 200)
      await writeFile(join(folder, 'go-on'), '')
      await Promise.all(slow)
      assert.equal(await program.ended, 0)
      assert.equal(program.errors(), '')
    })
  })
})

anyEngine((engine) => {
  test('if what started them is killed, the workers finish what is under way, and end', async (t) => {
    const { program, folder } = await startWorkers(t, await engine.migratedUrl())
    const each = [...(await connectionsToEach(t, await program.url(), 2)).values()]
    const slow = each.map((one) => one.expect(200, 'GET', '/probe/slow'))
    await until(() => program.lines().filter((line) => line.startsWith('slow ')).length === 2)
    program.signal('SIGKILL')
    await writeFile(join(folder, 'go-on'), '')
    await Promise.all(slow)
    // The workers have its standard error, which closes with the last of them.
    assert.equal(await program.ended, 'SIGKILL')
  })

  test('all end if a newer version has changed the tables', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const { program } = await startWorkers(t, databaseUrl)
    await program.url()
    const db = await openDatabase(databaseUrl)
    t.after(() => db.close())
    await db.write(
      sql`insert into sixwire_migrations (wire, name, checksum, applied_at) values ('store', '999-later', '', 0)`,
    )
    assert.equal(await program.ended, 1)
    assert.doesNotMatch(program.output(), /started again/)
  })

  test('with the sandbox it says why it does not start, once', async (t) => {
    const folder = await temporaryFolder(t)
    const environment = { DATA_DIR: folder, DATABASE_URL: await engine.migratedUrl(), SIXWIRE_WORKERS: '2' }
    const { code, errors } = await runProgram(t, ['start'], { folder, environment })
    assert.equal(
      errors,
      'sixwire: SIXWIRE_WORKERS: the sandbox is one process: set SIXWIRE_SANDBOX=off, or run one worker\n',
    )
    assert.equal(code, 1)
  })
})

test('what is no number of workers is refused, and several of them in development', async (t) => {
  const folder = await temporaryFolder(t)
  const refusal = async (words: string[], environment: Record<string, string> = {}) =>
    (await runHere(['start', ...words], { folder, environment })).errors.split('\n')[0]
  for (const wrong of ['0', 'two', '-1', '1000'])
    assert.equal(
      await refusal([`--workers=${wrong}`]),
      `sixwire start: --workers: "${wrong}" is not a number of workers: a whole number from 1 to 999, or auto`,
    )
  assert.equal(
    await refusal([], { SIXWIRE_WORKERS: '0' }),
    'sixwire: SIXWIRE_WORKERS: "0" is not a number of workers: a whole number from 1 to 999, or auto',
  )
  assert.equal(
    await refusal([], { SIXWIRE_WORKERS: '2', SIXWIRE_DEV: 'on' }),
    'sixwire: SIXWIRE_WORKERS: sixwire dev runs one process: remove it, or run sixwire start',
  )
})
