import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { eventReader, type ServerEvent } from './event-stream.ts'

/** What is read of some pieces: events, and times to wait. */
function read(pieces: readonly Uint8Array[]): (ServerEvent | number)[] {
  const found: (ServerEvent | number)[] = []
  const take = eventReader({ onEvent: (one) => found.push(one), onRetry: (ms) => found.push(ms) })
  for (const piece of pieces) take(piece)
  return found
}

const event = (data: string, name = 'message', id = ''): ServerEvent => ({ event: name, data, id })

// The examples of the standard are among them.
const CASES: [what: string, text: string, events: (ServerEvent | number)[]][] = [
  ['an event', 'event: put\nid: 7\ndata: {"a":1}\n\n', [event('{"a":1}', 'put', '7')]],
  ['lines of data', 'data: YHOO\ndata: +2\ndata: 10\n\n', [event('YHOO\n+2\n10')]],
  [
    'a space after the colon',
    'data:test\n\ndata: test\n\ndata:  test\n\n',
    [event('test'), event('test'), event(' test')],
  ],
  ['CRLF', 'data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n', [event('a\nb'), event('c')]],
  ['CR', 'data: a\rdata: b\r\rdata: c\r\r', [event('a\nb'), event('c')]],
  ['all three', 'data: a\r\ndata: b\rdata: c\n\r\ndata: d\r\n\n', [event('a\nb\nc'), event('d')]],
  ['comments', ': ping\n\n:\n\ndata: a\n: b\ndata: c\n\n', [event('a\nc')]],
  ['a byte order mark', '\ufeffdata: a\n\n', [event('a')]],
  [
    'an id that stays',
    'id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n',
    [event('a', 'message', '1'), event('b', 'message', '1'), event('c')],
  ],
  [
    'an id with a zero',
    'id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n',
    [event('a', 'message', '1'), event('b', 'message', '1')],
  ],
  ['no data', 'event: put\nid: 4\n\ndata: a\n\n', [event('a', 'message', '4')]],
  ['times to wait', 'retry: 2500\n\nretry: 1s\nretry: -1\ndata: a\n\n', [2500, event('a')]],
  ['other fields', 'datas: a\nDATA: b\n data: c\ndata\ndata: d\n\n', [event('\nd')]],
  ['an event that is cut off', 'data: a\n\ndata: b\n', [event('a')]],
  ['texts of all planes', 'data: é € 𝄞\n\n', [event('é € 𝄞')]],
]

describe('an event stream', () => {
  for (const [what, text, events] of CASES)
    test(`with ${what} is read alike however it is cut`, () => {
      const bytes = new TextEncoder().encode(text)
      assert.deepEqual(read([bytes]), events)
      assert.deepEqual(read(Array.from(bytes, (byte) => Uint8Array.of(byte))), events)
      for (let at = 1; at < bytes.length; at++)
        assert.deepEqual(read([bytes.subarray(0, at), bytes.subarray(at)]), events, `cut at ${at}`)
    })
})
