import assert from 'node:assert/strict'
import { test } from 'node:test'

import { frameReader, frameStart } from './frames.ts'

const LIMITS = { messageBytes: 100, attachedBytes: 1000 }
const frame = (message: object, attached = ''): Buffer =>
  Buffer.concat([frameStart(message, Buffer.byteLength(attached)), Buffer.from(attached)])

test('frames are put together, however they are cut', () => {
  const sent = Buffer.concat([frame({ n: 1 }), frame({ n: 'ü' }, 'bytes'), frame({})])
  for (let length = 1; length <= sent.length; length++) {
    const received: [unknown, string][] = []
    const read = frameReader(LIMITS, (message, bytes) => received.push([message, bytes.toString()]))
    for (let at = 0; at < sent.length; at += length) read(sent.subarray(at, at + length))
    assert.deepEqual(received, [
      [{ n: 1 }, ''],
      [{ n: 'ü' }, 'bytes'],
      [{}, ''],
    ])
  }
})

test('a frame that is too long, or none, is refused before its parts are there', () => {
  const read = () => frameReader(LIMITS, () => assert.fail('it was received'))
  assert.throws(() => read()(frameStart({}, 1001)), /1001 bytes: 1000 are allowed/)
  assert.throws(() => read()(frameStart({ text: 'x'.repeat(100) }, 0).subarray(0, 8)), /100 are allowed/)
  assert.throws(() => read()(Buffer.concat([Buffer.from([0, 0, 0, 1, 0, 0, 0, 0]), Buffer.from('{')])))
})
