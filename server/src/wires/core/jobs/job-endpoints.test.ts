import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { appForAll } from '../../../testing/auth.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'

type Fields = { kind?: string; state?: string; error?: string; claim?: string; runAt?: number }

const HOUR = 3_600_000

eachEngine((engine) => {
  const testOnce = testOnOne(engine)
  const app = appForAll(engine)
  let token: string

  /** Puts a job there that this server does not begin by itself. */
  const put = (id: string, { kind = 'auth.notice', state = 'ready', error, claim, runAt }: Fields = {}) =>
    app().app.db.write(sql`
      insert into sixwire_jobs (id, kind, payload, state, run_at, attempts, claimed_by, last_error, created_at)
      values (${id}, ${kind}, '{"userId":"u"}', ${state}, ${runAt ?? app().clock.now() + HOUR}, 3, ${claim ?? null},
        ${error ?? null}, ${app().clock.now()})`)
  const call = (method: string, path: string, body?: unknown) =>
    app().request(method, `/core/jobs${path}`, { token, ...(body !== undefined && { body }) })
  const ids = async (query: string): Promise<string[]> => {
    const { status, body } = await call('GET', query)
    assert.equal(status, 200)
    return body.jobs.map((one: { _id: string }) => one._id)
  }
  const stateOf = async (id: string): Promise<string | undefined> => {
    const row = await app().app.db.get<{ state: string }>(
      sql`select state from sixwire_jobs where id = ${id}`,
    )
    return row?.state
  }
  const entries = (target: string) =>
    app().app.db.all<{ action: string; old_value: string }>(
      sql`select action, old_value from sixwire_audit where target = ${target} order by id`,
    )

  before(async () => {
    token = (await app().register()).token
    await put('failed-1', { state: 'failed', error: 'The host Mail.example was not found', runAt: 1 })
    await put('failed-2', { state: 'failed', error: '100% full', runAt: 2 })
    await put('failed-3', { state: 'failed', error: 'The host mail.example was not found', runAt: 3 })
    await put('of-nobody', { state: 'failed', kind: 'gone.work', runAt: 4 })
    await put('later')
    await put('runs', { claim: '01kb0000000000000000000000' })
    await put('builds', { kind: 'store.indexes' })
  })

  test('jobs are listed by state, kind and a part of the error, failed ones first, page by page', async () => {
    assert.deepEqual((await ids('?limit=4')).slice(0, 4), ['failed-1', 'failed-2', 'failed-3', 'of-nobody'])
    assert.deepEqual(await ids('?kind=auth.notice&state=ready'), ['later'])
    assert.deepEqual(await ids('?state=running'), ['runs'])
    assert.deepEqual(await ids('?state=failed&error=mail.EXAMPLE'), ['failed-1', 'failed-3'])
    assert.deepEqual(await ids('?error=0%25 f'), ['failed-2'])
    assert.deepEqual(await ids('?state=failed&offset=2'), ['failed-3', 'of-nobody'])
    const listedIds: string[] = []
    let path = '?kind=auth.notice&limit=2'
    for (let pages = 0; pages < 9; pages++) {
      const { body } = await call('GET', path)
      assert.equal(body.total, 5)
      listedIds.push(...body.jobs.map((one: { _id: string }) => one._id))
      if (!body.nextCursor) break
      path = `?kind=auth.notice&limit=2&cursor=${body.nextCursor}`
    }
    assert.deepEqual(listedIds, ['failed-1', 'failed-2', 'failed-3', 'later', 'runs'])
    for (const query of [
      '?cursor=x',
      `?cursor=${Buffer.from('[0,1,2]').toString('base64url')}`,
      '?stat=failed',
    ])
      assert.equal((await call('GET', query)).status, 400, query)
  })

  test('they are counted by kind and state, each once', async () => {
    const { status, body } = await call('GET', '/counts')
    assert.equal(status, 200)
    assert.deepEqual(
      body.counts
        .filter(({ kind }: { kind: string }) => kind === 'auth.notice')
        .map(({ state, count }: { state: string; count: number }) => `${state} ${count}`)
        .toSorted(),
      ['failed 3', 'ready 1', 'running 1'],
    )
  })

  testOnce('one says since when it runs or why it failed, and what can be done', async () => {
    const { body: running } = await call('GET', '/runs')
    const { createdAt, startedAt, ...rest } = running
    assert.match(`${createdAt} ${startedAt}`, /^\d{4}-\S+Z \d{4}-\S+Z$/)
    assert.deepEqual(rest, {
      _id: 'runs',
      kind: 'auth.notice',
      state: 'running',
      attempts: 3,
      attemptsMax: 10,
      canRetry: false,
      canDiscard: false,
      payload: { userId: 'u' },
    })
    const { body: failed } = await call('GET', '/of-nobody')
    assert.equal(failed.failedAt, '1970-01-01T00:00:00.004Z')
    assert.deepEqual([failed.canRetry, failed.canDiscard, failed.attemptsMax], [false, true, undefined])
    assert.equal((await call('GET', '/nothing')).status, 404)
  })

  testOnce('a key reads payloads with the scope * only, since they may hold documents', async () => {
    const keys = app().app.service('auth').keys
    const payloadFor = async (scope: string): Promise<unknown> => {
      const { key } = await keys.create(scope, [scope])
      const { status, body } = await app().request('GET', '/core/jobs/later', { token: key })
      assert.equal(status, 200)
      return body.payload
    }
    assert.equal(await payloadFor('core'), undefined)
    assert.deepEqual(await payloadFor('*'), { userId: 'u' })
  })

  test('a failed job is retried, once, and the audit log says who did it', async () => {
    const { status, body } = await call('POST', '/failed-2/retry')
    assert.equal(status, 200)
    // It may have begun already.
    assert.ok(body.attempts < 3, `${body.attempts} attempts`)
    const [entry, ...others] = await entries('job:failed-2')
    assert.equal(entry!.action, 'job.retried')
    assert.deepEqual(JSON.parse(entry!.old_value), {
      kind: 'auth.notice',
      state: 'failed',
      attempts: 3,
      error: '100% full',
    })
    assert.deepEqual(others, [])
  })

  testOnce('what has not failed is not retried, nor what no wire of this server does', async () => {
    const refusals = {
      later: /has not failed/,
      runs: /has not failed/,
      'of-nobody': /no wire of this server does/,
    }
    for (const [id, reason] of Object.entries(refusals)) {
      const { status, body } = await call('POST', `/${id}/retry`)
      assert.equal(status, 409)
      assert.match(body.error.message, reason)
      assert.deepEqual(await entries(`job:${id}`), [])
    }
  })

  test('all that match are retried together', async () => {
    const { status, body } = await call('POST', '/retry', { filter: { error: 'mail.example' } })
    assert.deepEqual([status, body], [200, { count: 2 }])
    const again = await call('POST', '/retry', { filter: { error: 'mail.example' } })
    assert.equal(again.status, 404)
    assert.equal(await stateOf('of-nobody'), 'failed')
    const logged = await app().app.db.all<{ old_value: string }>(
      sql`select old_value from sixwire_audit where action = 'jobs.retried'`,
    )
    assert.deepEqual(
      logged.map(({ old_value }) => JSON.parse(old_value)),
      [{ error: 'mail.example' }],
    )
  })

  test('a job is discarded unless it runs, recurs or is needed', async () => {
    const refusals = {
      runs: /is running/,
      'every-sixwire.clean': /it recurs/,
      builds: /it builds an index/,
    }
    for (const [id, reason] of Object.entries(refusals)) {
      const { status, body } = await call('DELETE', `/${id}`)
      assert.equal(status, 409)
      assert.match(body.error.message, reason)
      assert.notEqual(await stateOf(id), undefined)
      assert.deepEqual(await entries(`job:${id}`), [])
    }
    for (const id of ['later', 'of-nobody']) {
      assert.equal((await call('DELETE', `/${id}`)).status, 200)
      assert.equal(await stateOf(id), undefined)
      assert.deepEqual(
        (await entries(`job:${id}`)).map(({ action }) => action),
        ['job.discarded'],
      )
      assert.equal((await call('DELETE', `/${id}`)).status, 404)
    }
  })
})
