import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'

import { createClient } from './index.ts'

const PART_BYTES = 10
const PARTS = 20
const SIZE = PART_BYTES * PARTS

type Behaviour = {
  keepsParts?: boolean
  /** Whether a call fails, by how many of its kind were before. */
  refusesPart?: (earlier: number) => boolean
  isBusy?: (earlier: number) => boolean
}

/** A server and its bucket in place of `fetch`, and a client that makes no pauses. */
function startBucket(
  t: TestContext,
  { keepsParts = true, refusesPart = () => false, isBusy = () => false }: Behaviour,
) {
  const { setTimeout: later } = globalThis
  t.mock.method(globalThis, 'setTimeout', (call: () => void) => later(call, 0))
  const stored = new Set<number>()
  const sent = { parts: 0, busy: 0 }

  function takePart(number: number): Response {
    if (refusesPart(sent.parts++)) return new Response(null, { status: 403 })
    if (keepsParts) stored.add(number)
    return new Response(null, { status: 200 })
  }
  function stateNow(): Response {
    const state = { _id: 'upload', offset: stored.size * PART_BYTES, size: SIZE }
    const isComplete = stored.size === PARTS
    if (isComplete && isBusy(sent.busy++))
      return Response.json({ error: { code: 'UPLOAD_BUSY', message: 'Wait.' } }, { status: 423 })
    const parts = Array.from({ length: PARTS }, (_, i) => ({
      number: i + 1,
      start: i * PART_BYTES,
      size: PART_BYTES,
      url: `http://bucket.example/${i + 1}`,
    })).filter(({ number }) => !stored.has(number))
    return Response.json({ ...state, ...(isComplete ? { file: 'file' } : { parts }) })
  }
  t.mock.method(globalThis, 'fetch', async (address: string | URL) => {
    const { host, pathname } = new URL(address)
    if (host === 'bucket.example') return takePart(Number(pathname.slice(1)))
    return pathname.startsWith('/store/files/') ? Response.json({ _id: 'file' }) : stateNow()
  })
  const six = createClient('http://server.example')
  return { sent, upload: () => six.upload(new Blob(['x'.repeat(SIZE)]), { direct: true }) }
}

describe('an upload to the bucket', () => {
  test('goes on after any number of failures while more and more arrives', async (t) => {
    const { upload, sent } = startBucket(t, { refusesPart: (earlier) => earlier % 3 > 0 })
    assert.deepEqual(await upload(), { _id: 'file' })
    assert.ok(sent.parts > PARTS)
  })

  test('ends if the bucket takes parts and has none of them', async (t) => {
    const { upload, sent } = startBucket(t, { keepsParts: false, refusesPart: (earlier) => earlier > 10_000 })
    await assert.rejects(upload(), { message: 'The bucket lists no parts' })
    assert.ok(sent.parts < 20 * PARTS, String(sent.parts))
  })

  test('waits for as long as the server makes the file', async (t) => {
    const { upload } = startBucket(t, { isBusy: (earlier) => earlier < 30 })
    assert.deepEqual(await upload(), { _id: 'file' })
  })
})
