import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from './errors.ts'
import { createSemaphore } from './semaphore.ts'

/** Tasks that end when told to, and a record of the order in which they began. */
function createTasks() {
  const began: number[] = []
  const ends = new Map<number, { resolve(): void; reject(error: Error): void }>()
  const task = (id: number) => () => {
    began.push(id)
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    ends.set(id, { resolve: () => resolve(id), reject })
    return promise
  }
  return { began, ends, task }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('tasks beyond the limit begin in order of arrival, one for each that ends', async () => {
  const { began, ends, task } = createTasks()
  const semaphore = createSemaphore({ limit: 2, queue: 10, retryAfter: 1 })
  const results = [1, 2, 3, 4, 5].map((id) => semaphore.run(task(id)))
  await settled()
  assert.deepEqual(began, [1, 2])
  ends.get(2)!.resolve()
  await settled()
  assert.deepEqual(began, [1, 2, 3])
  ends.get(1)!.resolve()
  ends.get(3)!.resolve()
  await settled()
  assert.deepEqual(began, [1, 2, 3, 4, 5])
  ends.get(4)!.resolve()
  ends.get(5)!.resolve()
  assert.deepEqual(await Promise.all(results), [1, 2, 3, 4, 5])
})

test('a task that comes when a slot is passed on does not overtake one that waits', async () => {
  const { began, ends, task } = createTasks()
  const semaphore = createSemaphore({ limit: 1, queue: 10, retryAfter: 1 })
  const first = semaphore.run(task(1))
  const second = semaphore.run(task(2))
  const third = first.then(() => semaphore.run(task(3)))
  ends.get(1)!.resolve()
  await settled()
  assert.deepEqual(began, [1, 2])
  ends.get(2)!.resolve()
  await settled()
  ends.get(3)!.resolve()
  assert.deepEqual(await Promise.all([first, second, third]), [1, 2, 3])
})

test('a full queue refuses at once with 503 and when to come again, and takes tasks again later', async () => {
  const { began, ends, task } = createTasks()
  const semaphore = createSemaphore({ limit: 1, queue: 1, retryAfter: 7 })
  const kept = [semaphore.run(task(1)), semaphore.run(task(2))]
  let refusal: unknown
  semaphore.run(task(3)).catch((error: unknown) => (refusal = error))
  await settled()
  assert.ok(refusal instanceof ApiError)
  assert.equal(refusal.status, 503)
  assert.equal(refusal.retryAfter, 7)
  assert.deepEqual(began, [1])
  ends.get(1)!.resolve()
  await settled()
  kept.push(semaphore.run(task(4)))
  ends.get(2)!.resolve()
  await settled()
  ends.get(4)!.resolve()
  assert.deepEqual(await Promise.all(kept), [1, 2, 4])
})

test('a task that fails, or throws before it begins, gives its slot back', async () => {
  const { ends, task } = createTasks()
  const semaphore = createSemaphore({ limit: 1, queue: 3, retryAfter: 1 })
  const failing = semaphore.run(task(1))
  const throwing = semaphore.run(() => {
    throw new Error('at once')
  })
  const last = semaphore.run(async () => 'done')
  ends.get(1)!.reject(new Error('later'))
  await assert.rejects(failing, /later/)
  await assert.rejects(throwing, /at once/)
  assert.equal(await last, 'done')
})

test('property: never more at once than the limit, all that are taken run, in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 0, max: 5 }),
      fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 20 }),
      async (limit, queue, turns) => {
        const semaphore = createSemaphore({ limit, queue, retryAfter: 1 })
        const began: number[] = []
        let running = 0
        const results = await Promise.allSettled(
          turns.map((wait, id) =>
            semaphore.run(async () => {
              began.push(id)
              assert.ok(++running <= limit)
              for (let i = 0; i < wait; i++) await settled()
              running--
            }),
          ),
        )
        const taken = results.flatMap((result, id) => (result.status === 'fulfilled' ? [id] : []))
        assert.equal(taken.length, Math.min(turns.length, limit + queue))
        assert.deepEqual(began, taken)
      },
    ),
    { numRuns: 100 },
  )
})
