// What every storage of objects must do, whatever it stands on: one suite, run by each of them.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, test } from 'node:test'

import { ApiError } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { isLongRun } from '../../../testing/long-run.ts'
import { NoSuchObject, type ObjectStorage, type StoredObject } from './storage.ts'

const MIB = 1_048_576
const CHUNK_BYTES = 65_536
/** S3 answers 1,000 at a time. */
const LISTED = isLongRun ? 1_010 : 6

export const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** The bytes as they come from a socket: in pieces, each at another time. */
export async function* inPieces(bytes: Buffer, size = CHUNK_BYTES): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) {
    await turn()
    yield bytes.subarray(at, at + size)
  }
}

/** Bytes that fail at this place, as those of a client whose connection is cut. */
async function* cutAt(bytes: Buffer, at: number, fault: Error): AsyncGenerator<Buffer> {
  yield* inPieces(bytes.subarray(0, at))
  throw fault
}

export async function readAll(
  storage: ObjectStorage,
  key: string,
  range?: { start: number; end: number },
): Promise<Buffer> {
  return Buffer.concat(await (await storage.read(key, range)).toArray())
}

async function inParallel<T>(all: readonly T[], work: (one: T, at: number) => Promise<unknown>) {
  const entries = all.entries()
  const workNext = async (): Promise<void> => {
    for (const [at, one] of entries) await work(one, at)
  }
  await Promise.all(Array.from({ length: 8 }, workNext))
}

export const hasNone = (storage: ObjectStorage, key: string): Promise<void> =>
  assert.rejects(storage.read(key), (error) => error instanceof NoSuchObject && error.message.includes(key))

/** An UNAVAILABLE with the API's own sentence; what happened is in its cause, for the log. */
export const isUnavailable = (error: unknown, cause: RegExp): boolean => {
  assert.ok(error instanceof ApiError, String(error))
  assert.deepEqual([error.status, error.code], [503, 'UNAVAILABLE'])
  assert.match((error.cause as Error).message, cause)
  assert.match((error.cause as Error).message, /^[^\r\n]{1,400}$/)
  return true
}

/**
 * @param open answers the storage, which the suite shares
 * @param partsOf how many parts of unfinished writes there are of a key, if it can be told
 * @param sizes of the objects that are written and read
 */
export function describeStorage(
  name: string,
  {
    open,
    partsOf,
    sizes = [0, 1, CHUNK_BYTES, 8 * MIB, 8 * MIB + 1],
    listed = LISTED,
  }: {
    open: () => ObjectStorage
    partsOf?: (key: string) => Promise<number>
    sizes?: readonly number[]
    listed?: number
  },
): void {
  describe(`${name} as a storage of objects`, () => {
    const hasNoParts = async (key: string): Promise<void> => {
      if (partsOf) assert.equal(await partsOf(key), 0)
    }

    for (const size of sizes)
      test(`${size} bytes are read as they were written, and removed`, async () => {
        const [storage, key, bytes] = [open(), newId(), randomBytes(size)]
        assert.deepEqual(await storage.write(key, inPieces(bytes)), { size, sha256: sha256Of(bytes) })
        assert.ok((await readAll(storage, key)).equals(bytes))
        await hasNoParts(key)
        await storage.remove(key)
        await hasNone(storage, key)
      })

    test('any range of an object', async () => {
      const [storage, key, bytes] = [open(), newId(), randomBytes(3 * MIB + 7)]
      await storage.write(key, inPieces(bytes, 1_000_003))
      const last = bytes.length - 1
      for (const [start, end] of [
        [0, 0],
        [0, last],
        [last, last],
        [1, 2],
        [262_143, 262_144],
        [100_000, 2_500_000],
      ] as const)
        assert.ok((await readAll(storage, key, { start, end })).equals(bytes.subarray(start, end + 1)))
      await storage.remove(key)
    })

    test('a stream that is destroyed ends, and the next one reads the whole', async () => {
      const [storage, key, bytes] = [open(), newId(), randomBytes(2 * MIB)]
      await storage.write(key, inPieces(bytes))
      const stream = await storage.read(key)
      await once(stream, 'readable')
      stream.destroy()
      ;(await storage.read(key)).destroy()
      assert.ok((await readAll(storage, key)).equals(bytes))
      await storage.remove(key)
    })

    test('an object that does not exist is not found, and removing it changes nothing', async () => {
      const [storage, key] = [open(), newId()]
      await hasNone(storage, key)
      await assert.rejects(storage.read(key, { start: 0, end: 9 }), NoSuchObject)
      await storage.remove(key)
    })

    test('an object is replaced as a whole', async () => {
      const [storage, key] = [open(), newId()]
      await storage.write(key, inPieces(randomBytes(MIB)))
      const bytes = Buffer.from('the second one')
      assert.equal((await storage.write(key, inPieces(bytes))).sha256, sha256Of(bytes))
      assert.ok((await readAll(storage, key)).equals(bytes))
      await storage.remove(key)
    })

    for (const [what, at] of [
      ['at once', 0],
      ['in the first part', MIB],
      ['in the second part', 9 * MIB],
    ] as const)
      test(`bytes that fail ${what} leave no object`, async () => {
        const [storage, key] = [open(), newId()]
        const fault = new Error('cut')
        const writing = storage.write(key, cutAt(Buffer.alloc(10 * MIB), at, fault))
        await assert.rejects(writing, (error) => error === fault)
        await hasNone(storage, key)
        await storage.remove(key)
        await hasNoParts(key)
      })

    test('a signal ends a write, before and while bytes arrive', async () => {
      const [storage, key] = [open(), newId()]
      await assert.rejects(storage.write(key, inPieces(Buffer.alloc(9)), { signal: AbortSignal.abort() }))
      const controller = new AbortController()
      const sent = (async function* () {
        yield Buffer.alloc(MIB)
        controller.abort()
        await turn()
        yield Buffer.alloc(MIB)
      })()
      await assert.rejects(storage.write(key, sent, { signal: controller.signal }))
      await hasNone(storage, key)
      await storage.remove(key)
      await hasNoParts(key)
    })

    test('a signal ends a write whose bytes do not come', async () => {
      const [storage, key] = [open(), newId()]
      const controller = new AbortController()
      const sent = (async function* () {
        yield Buffer.alloc(MIB)
        setImmediate(() => controller.abort(new Error('stopped')))
        await new Promise(() => undefined)
      })()
      await assert.rejects(storage.write(key, sent, { signal: controller.signal }), { message: 'stopped' })
      await hasNone(storage, key)
      await storage.remove(key)
      await hasNoParts(key)
    })

    test('lists what it has, whatever the number, with the size and the time of each', async () => {
      const storage = open()
      const keys = Array.from({ length: listed }, () => newId())
      const began = Date.now()
      await inParallel(keys, (key, at) => storage.write(key, inPieces(Buffer.alloc(at % 3, 1))))
      const removed = keys.splice(0, 2)
      for (const key of removed) await storage.remove(key)
      const found = new Map<string, StoredObject>()
      for await (const objects of storage.list())
        for (const one of objects) {
          assert.ok(!found.has(one.key), `${one.key} is listed twice`)
          found.set(one.key, one)
        }
      for (const [at, key] of keys.entries())
        for (const object of [found.get(key)!, (await storage.stat(key))!]) {
          const { modifiedAt, ...one } = object
          assert.deepEqual(one, { key, size: (at + 2) % 3, isPart: false })
          assert.ok(Math.abs(modifiedAt - began) < 60_000, String(modifiedAt))
        }
      for (const key of removed) {
        assert.ok(!found.has(key))
        assert.equal(await storage.stat(key), undefined)
      }
      await inParallel(keys, (key) => storage.remove(key))
    })

    test('answers a ping', () => open().ping())
  })
}
