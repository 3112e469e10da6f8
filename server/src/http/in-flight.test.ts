import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'

import type { ApiError } from '../base/errors.ts'
import { ReceivedCall, type Exchange } from './received-call.ts'
import { InFlight } from './in-flight.ts'
import { Traffic, weightOfBody } from './traffic.ts'

const MIB = 1_048_576
const createTraffic = () => new Traffic(() => undefined)
/** A stranger's request from an address. */
const flightOf = (traffic: Traffic, ip: string): InFlight =>
  new InFlight(
    traffic,
    { ip, url: '/', raw: { headers: {} } } as ConstructorParameters<typeof InFlight>[1],
    undefined,
  )
/** One that has its place. */
function begunFlightOf(traffic: Traffic, ip: string): InFlight {
  const flight = flightOf(traffic, ip)
  assert.equal(flight.takePlace(0, never), undefined)
  return flight
}
const never = () => new AbortController().signal

test('a small body takes nothing, an upload what is in memory of it, and JSON what it takes parsed', () => {
  const length = (bytes: number) => ({ 'content-length': String(bytes) })
  assert.equal(weightOfBody(length(65_536), MIB, 'whole'), 0)
  assert.equal(weightOfBody(length(200_000), MIB, 'whole'), 800_000)
  assert.equal(weightOfBody(length(200_000), 50 * MIB, 'files'), 200_000)
  assert.equal(weightOfBody(length(40 * MIB), 50 * MIB, 'files'), MIB)
  assert.equal(weightOfBody({ 'transfer-encoding': 'chunked' }, 50 * MIB, 'files'), MIB)
  assert.equal(weightOfBody(length(40 * MIB), 50 * MIB, 'json and files'), 2 * MIB)
  assert.equal(weightOfBody({}, MIB, 'whole'), 0)
  // Of what is too large nothing is received.
  assert.equal(weightOfBody(length(1e12), MIB, 'whole'), 4 * MIB)
})

test('of one client 256 requests and 16 uploads are under way, and others are not held up', async () => {
  const traffic = createTraffic()
  const shares = Array.from({ length: 300 }, () => flightOf(traffic, '192.0.2.1'))
  const begun = shares.map((share) => share.takePlace(0, never))
  assert.equal(begun.filter((waiting) => waiting === undefined).length, 256)
  assert.equal(flightOf(traffic, '192.0.2.2').takePlace(0, never), undefined)

  const uploads = Array.from({ length: 20 }, () => flightOf(traffic, '192.0.2.3'))
  let count = 0
  for (const upload of uploads) void upload.takePlace(MIB, never)!.then(() => count++)
  await setImmediate()
  assert.equal(count, 16)
  // One that is handled makes room for the next, though its answer is not sent.
  uploads[0]!.enterHandler()
  uploads[0]!.leaveHandler()
  await setImmediate()
  assert.equal(count, 17)
  for (const share of [...shares.slice(0, 256), ...uploads]) share.settle(200)
  for (const waiting of begun) await waiting
})

test('no more wait with a body than may for one, and they take no place of other requests', async () => {
  const traffic = createTraffic()
  const client = new AbortController()
  const outcomes: unknown[] = []
  for (let i = 0; i < 300; i++)
    void flightOf(traffic, '192.0.2.1')
      .takePlace(MIB, () => client.signal)!
      .then(
        () => outcomes.push('begun'),
        (error: unknown) => outcomes.push((error as ApiError).code),
      )
  await setImmediate()
  const counted = (code: string) => outcomes.filter((outcome) => outcome === code).length
  assert.deepEqual([counted('begun'), counted('TOO_MANY_CONCURRENT'), outcomes.length], [16, 28, 44])
  assert.equal(traffic.requests.total, 16)
  client.abort()
})

test('a share is free when the answer is sent and the handler has returned, whichever is first', async () => {
  const traffic = createTraffic()
  const share = flightOf(traffic, '192.0.2.1')
  assert.equal(share.takePlace(0, never), undefined)
  share.enterHandler()
  await share.makeRoom(4 * MIB, never())
  share.answerHas(MIB)
  assert.deepEqual([traffic.requests.total, traffic.answers.total], [1, MIB])
  share.settle(200)
  assert.deepEqual([traffic.requests.total, traffic.answers.total], [1, MIB])
  share.leaveHandler()
  assert.deepEqual([traffic.requests.total, traffic.answers.total], [0, 0])
  // Room that comes when nobody needs it any more.
  await share.makeRoom(MIB, never())
  assert.equal(traffic.answers.total, 0)
})

test('a call that waits for room ends with 503 at its time limit', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const traffic = createTraffic()
  const other = begunFlightOf(traffic, '192.0.2.1')
  await other.makeRoom(16 * MIB, never())
  const request = { flight: begunFlightOf(traffic, '192.0.2.1') }
  const reply = { raw: new EventEmitter() }
  // Of a call only these are read here.
  const route = { spec: { timeLimitMs: 2_000 } }
  const { makeRoom } = new ReceivedCall({ route, request, reply } as unknown as Exchange)
  const waiting = makeRoom(8 * MIB)
  t.mock.timers.tick(2_000)
  await assert.rejects(waiting, { status: 503, code: 'UNAVAILABLE', message: /took longer than 2 s/ })
  other.settle(200)
  assert.equal(traffic.answers.total, 0)
})

test('answers of 16 MiB of one client are under way, and of 64 MiB in all', async () => {
  const traffic = createTraffic()
  let count = 0
  for (let client = 0; client < 6; client++)
    for (let i = 0; i < 6; i++)
      void begunFlightOf(traffic, `192.0.2.${client}`)
        .makeRoom(4 * MIB, AbortSignal.timeout(50))
        .then(
          () => count++,
          () => undefined,
        )
  await setImmediate()
  assert.equal(count, 16)
  assert.equal(traffic.answers.total, 64 * MIB)
})

test('a share that its client leaves between two waits is free', async () => {
  const traffic = createTraffic()
  const holders = Array.from({ length: 256 }, () => flightOf(traffic, '192.0.2.1'))
  for (const holder of holders) void holder.takePlace(0, never)
  void traffic.bodies.take('192.0.2.1', 16 * MIB)
  const client = new AbortController()
  const leaving = flightOf(traffic, '192.0.2.1')
  const begun = leaving.takePlace(MIB, () => client.signal)
  const left = assert.rejects(begun!)
  // In this order, and with nothing in between: the place becomes free, and the client is gone.
  holders[0]!.settle(200)
  client.abort()
  leaving.settle(200)
  await left
  for (const holder of holders.slice(1)) holder.settle(200)
  assert.equal(traffic.requests.total, 0)
})
