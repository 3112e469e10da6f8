import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { answer, startPeer } from '../outbound/peer.fixture.ts'
import { jsonOf } from '../outbound/outbound.ts'
import { outcomeOf, type ReplyReader } from './outcome.ts'

const reader: ReplyReader<{ id: string }> = {
  name: 'The peer',
  expects: 'an id',
  accept(reply) {
    const { id } = (jsonOf(reply) ?? {}) as { id?: unknown }
    return typeof id === 'string' ? { id } : undefined
  },
  isPassing: ({ body }) => body.includes('busy'),
}

describe('the outcome of a reply', () => {
  for (const [status, body, kind] of [
    [200, '{"id":"a"}', 'accepted'],
    [201, '{"id":"a"}', 'accepted'],
    [200, '{}', 'unknown'],
    [200, '', 'unknown'],
    [204, '', 'unknown'],
    [301, '', 'retry'],
    [304, '', 'retry'],
    [400, '', 'refused'],
    [400, 'busy', 'retry'],
    [401, '', 'retry'],
    [403, '', 'refused'],
    [408, '', 'unknown'],
    [409, '', 'refused'],
    [422, '', 'refused'],
    [429, '', 'retry'],
    [500, 'busy', 'unknown'],
    [503, '', 'unknown'],
    [999, '', 'unknown'],
  ] as const)
    test(`${status} with "${body}" is ${kind}`, async (t) => {
      const peer = await startPeer(t, (socket) => socket.end(answer(body, { status })))
      const outcome = outcomeOf(await peer.outbound().call('/', { method: 'POST' }), reader)
      const reason =
        kind === 'unknown' && status < 300
          ? `The peer answered ${status} without an id`
          : `The peer answered ${status}`
      assert.deepEqual(outcome, kind === 'accepted' ? { kind, id: 'a' } : { kind, reason })
    })

  for (const [header, afterMs] of [
    ['7', 7000],
    ['0.5', 500],
    ['0', undefined],
    ['-1', undefined],
    ['soon', undefined],
    ['Fri, 31 Dec 1999 23:59:59 GMT', undefined],
  ] as const)
    test(`waits ${afterMs ?? 'no'} ms for "Retry-After: ${header}"`, async (t) => {
      const peer = await startPeer(t, (socket) =>
        socket.end(answer('', { status: 429, headers: { 'retry-after': header } })),
      )
      const outcome = outcomeOf(await peer.outbound().call('/', { method: 'POST' }), reader)
      assert.equal((outcome as { afterMs?: number }).afterMs, afterMs)
    })

  test('is retry if nothing was sent, and unknown if it was', async (t) => {
    const peer = await startPeer(t, (socket) => socket.destroy())
    assert.equal(outcomeOf(await peer.outbound().call('/'), reader).kind, 'unknown')
    await peer.stop()
    assert.equal(outcomeOf(await peer.outbound().call('/'), reader).kind, 'retry')
  })
})
