// Attacks on the memory of a server, at full size: `npx node --test server/src/e2e/attacks.long.ts`, on a machine that does nothing else
// where the times of another user count. Their structure is tested where it is built, at each run.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { p99, startVictim, type Victim } from '../testing/attack.ts'
import { eachEngine } from '../testing/engines.ts'

const MEMORY_MAX = 400
const SLOWER_MAX = 3
const REQUEST_LIMIT_MS = 15_000
const LARGE = 'x'.repeat(900_000)

type Bystander = { token: string; path: string }

async function addBystander(victim: Victim): Promise<Bystander> {
  const token = await victim.register('other@example.com')
  const { body } = await victim.request('POST', '/store/things', token, { title: 'small' })
  return { token, path: `/store/things/${body._id}` }
}

/** Attacks for ten seconds, and compares the memory and another user's times with the limits. */
async function attack(t: TestContext, victim: Victim, other: Bystander, begin: () => unknown, ms = 10_000) {
  await victim.watch(other.token, other.path, AbortSignal.timeout(2_000))
  const before = await victim.watch(other.token, other.path, AbortSignal.timeout(5_000))
  let during: number[] = []
  const idle = await victim.memory()
  const most = await victim.most(async () => {
    const watching = victim.watch(other.token, other.path, AbortSignal.timeout(ms))
    await begin()
    during = await watching
  })
  const ratio = p99(during) / p99(before)
  t.diagnostic(
    `memory ${idle.toFixed(0)} → ${most.memory.toFixed(0)} MB, ${most.files} open files; ` +
      `another user's p99 ${p99(before).toFixed(1)} → ${p99(during).toFixed(1)} ms (${ratio.toFixed(1)} times, of ${during.length})`,
  )
  return { ...most, ratio }
}

function assertBounds({ memory, ratio }: { memory: number; ratio: number }, memoryMax = MEMORY_MAX): void {
  assert.ok(memory <= memoryMax, `${memory.toFixed(0)} MB of memory`)
  if (process.env['SIXWIRE_ATTACK_TIMES'] !== 'off')
    assert.ok(ratio <= SLOWER_MAX, `another user waits ${ratio.toFixed(1)} times as long`)
}

const get = (path: string, token?: string): string =>
  `GET ${path} HTTP/1.1\r\nhost: a\r\n${token === undefined ? '' : `authorization: Bearer ${token}\r\n`}\r\n`

/** A multipart body of a file of this many bytes, with its headers. */
function uploadOf(bytes: number, token: string): Buffer {
  const head =
    '--b\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\ncontent-type: application/octet-stream\r\n\r\n'
  const body = Buffer.concat([Buffer.from(head), Buffer.alloc(bytes, 1), Buffer.from('\r\n--b--\r\n')])
  return Buffer.concat([
    Buffer.from(
      `POST /store/upload HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\n` +
        `content-type: multipart/form-data; boundary=b\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`,
    ),
    body,
  ])
}

/** The status of the first answer on each connection, once all are answered. */
async function statusOf(socket: ReturnType<Victim['send']>): Promise<number> {
  const [answer] = (await once(socket.resume(), 'data')) as [Buffer]
  socket.resume()
  return Number(answer.toString('latin1', 9, 12))
}

const countOf = (values: readonly number[]) =>
  JSON.stringify(
    Object.fromEntries(
      Map.groupBy(values, String)
        .entries()
        .map(([status, all]) => [status, all.length]),
    ),
  )

eachEngine((engine) => {
  test('documents that are requested ahead and not read', async (t) => {
    const victim = await startVictim(t, engine)
    const other = await addBystander(victim)
    const token = await victim.register('attacker@example.com')
    const { body } = await victim.request('POST', '/store/large', token, { text: LARGE })
    const ahead = get(`/store/large/${body._id}`, token).repeat(200)
    const result = await attack(t, victim, other, () => {
      for (let i = 0; i < 20; i++) victim.send(ahead)
    })
    assertBounds(result)
  })

  test('documents that are requested on many connections and not read', async (t) => {
    const victim = await startVictim(t, engine)
    const other = await addBystander(victim)
    const token = await victim.register('attacker@example.com')
    const { body } = await victim.request('POST', '/store/large', token, { text: LARGE })
    const one = get(`/store/large/${body._id}`, token)
    const result = await attack(t, victim, other, () => {
      for (let i = 0; i < 1000; i++) victim.send(one)
    })
    assertBounds(result)
  })

  test('a file that strangers request ahead by its link and do not read', async (t) => {
    const victim = await startVictim(t, engine)
    const other = await addBystander(victim)
    const token = await victim.register('attacker@example.com')
    const sent = victim.send(uploadOf(10_000_000, token))
    assert.equal(await statusOf(sent), 201)
    const { body: list } = await victim.request('GET', '/store/files', token)
    const { body: link } = await victim.request('POST', `/store/files/${list.files[0]._id}/link`, token, {})
    const { pathname, search } = new URL(link.url as string)
    const ahead = get(pathname + search).repeat(200)
    const idleFiles = await victim.openFiles()
    const result = await attack(t, victim, other, () => {
      for (let i = 0; i < 20; i++) victim.send(ahead)
    })
    assertBounds(result)
    assert.ok(result.files - idleFiles <= 100, `${result.files} open files`)
  })

  test('1,000 uploads of 1 MB at once', async (t) => {
    const victim = await startVictim(t, engine, { SIXWIRE_RATE_LIMITS: 'off' })
    const other = await addBystander(victim)
    const token = await victim.register('attacker@example.com')
    const bytes = uploadOf(1_000_000, token)
    const result = await attack(
      t,
      victim,
      other,
      async () => {
        const statuses = await Promise.all(Array.from({ length: 1000 }, () => statusOf(victim.send(bytes))))
        t.diagnostic(`answers: ${countOf(statuses)}`)
        assert.ok(statuses.every((status) => [201, 429, 503].includes(status)))
      },
      20_000,
    )
    await delay(30_000)
    const after = await victim.memory()
    t.diagnostic(`memory after 30 s: ${after.toFixed(0)} MB`)
    assertBounds(result, 300)
  })

  test('40 lists of large documents at once', async (t) => {
    const victim = await startVictim(t, engine, { SIXWIRE_RATE_LIMITS: 'off' })
    const other = await addBystander(victim)
    const token = await victim.register('attacker@example.com')
    for (let i = 0; i < 40; i++)
      await victim.request('POST', '/store/large', token, { text: 'x'.repeat(960_000), n: i })
    const times: number[] = []
    const result = await attack(
      t,
      victim,
      other,
      async () => {
        const statuses = await Promise.all(
          Array.from({ length: 40 }, async () => {
            const began = performance.now()
            const { status } = await victim.request('GET', '/store/large?limit=1000', token)
            times.push(performance.now() - began)
            return status
          }),
        )
        t.diagnostic(
          `answers: ${countOf(statuses)}, the last after ${(Math.max(...times) / 1000).toFixed(1)} s`,
        )
      },
      5_000,
    )
    assertBounds(result)
    assert.ok(Math.max(...times) < REQUEST_LIMIT_MS + 1_000)
  })
})
