import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'

import type { ApiError } from '../base/errors.ts'
import { ReceivedCall, type Exchange } from './received-call.ts'
import { limitsOfProcess, Share, weightOfBody } from './shares.ts'

const MIB = 1_048_576
const stranger = (ip: string) => ({ caller: undefined, ip })
const never = () => new AbortController().signal

test('a small body takes nothing, an upload what is in memory of it, and JSON what it takes parsed', () => {
  const length = (bytes: number) => ({ 'content-length': String(bytes) })
  assert.equal(weightOfBody(length(65_536), MIB, false), 0)
  assert.equal(weightOfBody(length(200_000), MIB, false), 800_000)
  assert.equal(weightOfBody(length(200_000), 50 * MIB, true), 200_000)
  assert.equal(weightOfBody(length(40 * MIB), 50 * MIB, true), MIB)
  assert.equal(weightOfBody({ 'transfer-encoding': 'chunked' }, 50 * MIB, true), MIB)
  assert.equal(weightOfBody({}, MIB, false), 0)
  // Of what is too large nothing is received.
  assert.equal(weightOfBody(length(1e12), MIB, false), 4 * MIB)
})

test('of one client 256 requests and 16 uploads are under way, and others are not held up', async () => {
  const limits = limitsOfProcess()
  const shares = Array.from({ length: 300 }, () => new Share(limits, stranger('192.0.2.1')))
  const begun = shares.map((share) => share.begin(0, never))
  assert.equal(begun.filter((waiting) => waiting === undefined).length, 256)
  assert.equal(new Share(limits, stranger('192.0.2.2')).begin(0, never), undefined)

  const uploads = Array.from({ length: 20 }, () => new Share(limits, stranger('192.0.2.3')))
  let count = 0
  for (const upload of uploads) void upload.begin(MIB, never)!.then(() => count++)
  await setImmediate()
  assert.equal(count, 16)
  // One that is handled makes room for the next, though its answer is not sent.
  uploads[0]!.enterHandler()
  uploads[0]!.leaveHandler()
  await setImmediate()
  assert.equal(count, 17)
  for (const share of [...shares.slice(0, 256), ...uploads]) share.release()
  for (const waiting of begun) await waiting
})

test('no more wait with a body than may for one, and they take no place of other requests', async () => {
  const limits = limitsOfProcess()
  const client = new AbortController()
  const outcomes: unknown[] = []
  for (let i = 0; i < 300; i++)
    void new Share(limits, stranger('192.0.2.1'))
      .begin(MIB, () => client.signal)!
      .then(
        () => outcomes.push('begun'),
        (error: unknown) => outcomes.push((error as ApiError).code),
      )
  await setImmediate()
  const counted = (code: string) => outcomes.filter((outcome) => outcome === code).length
  assert.deepEqual([counted('begun'), counted('TOO_MANY_CONCURRENT'), outcomes.length], [16, 28, 44])
  assert.equal(limits.requests.total, 16)
  client.abort()
})

test('a share is free when the answer is sent and the handler has returned, whichever is first', async () => {
  const limits = limitsOfProcess()
  const share = new Share(limits, stranger('192.0.2.1'))
  assert.equal(share.begin(0, never), undefined)
  share.enterHandler()
  await share.answer(4 * MIB, never())
  share.answerHas(MIB)
  assert.deepEqual([limits.requests.total, limits.answers.total], [1, MIB])
  share.release()
  assert.deepEqual([limits.requests.total, limits.answers.total], [1, MIB])
  share.leaveHandler()
  assert.deepEqual([limits.requests.total, limits.answers.total], [0, 0])
  // Room that comes when nobody needs it any more.
  await share.answer(MIB, never())
  assert.equal(limits.answers.total, 0)
})

test('a call that waits for room ends with 503 at its time limit', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const limits = limitsOfProcess()
  const other = new Share(limits, stranger('192.0.2.1'))
  await other.answer(16 * MIB, never())
  const request = { share: new Share(limits, stranger('192.0.2.1')) }
  const reply = { raw: new EventEmitter() }
  // Of a call only these are read here.
  const route = { spec: { timeLimitMs: 2_000 } }
  const { makeRoom } = new ReceivedCall({ route, request, reply } as unknown as Exchange)
  const waiting = makeRoom(8 * MIB)
  t.mock.timers.tick(2_000)
  await assert.rejects(waiting, { status: 503, code: 'UNAVAILABLE', message: /took longer than 2 s/ })
  other.release()
  assert.equal(limits.answers.total, 0)
})

test('answers of 16 MiB of one client are under way, and of 64 MiB in all', async () => {
  const limits = limitsOfProcess()
  let count = 0
  for (let client = 0; client < 6; client++)
    for (let i = 0; i < 6; i++)
      void new Share(limits, stranger(`192.0.2.${client}`)).answer(4 * MIB, AbortSignal.timeout(50)).then(
        () => count++,
        () => undefined,
      )
  await setImmediate()
  assert.equal(count, 16)
  assert.equal(limits.answers.total, 64 * MIB)
})

test('a share that its client leaves between two waits is free', async () => {
  const limits = limitsOfProcess()
  const holders = Array.from({ length: 256 }, () => new Share(limits, stranger('192.0.2.1')))
  for (const holder of holders) void holder.begin(0, never)
  void limits.bodies.take('192.0.2.1', 16 * MIB)
  const client = new AbortController()
  const leaving = new Share(limits, stranger('192.0.2.1'))
  const begun = leaving.begin(MIB, () => client.signal)
  const left = assert.rejects(begun!)
  // In this order, and with nothing in between: the place becomes free, and the client is gone.
  holders[0]!.release()
  client.abort()
  leaving.release()
  await left
  for (const holder of holders.slice(1)) holder.release()
  assert.equal(limits.requests.total, 0)
})
