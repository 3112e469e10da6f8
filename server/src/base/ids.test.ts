import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { idPattern, idsWithin, leastIdOf, newId, timeOfId } from './ids.ts'

const NOW = Date.UTC(2026, 0, 1)
const form = new RegExp(idPattern)

const isSorted = (ids: readonly string[]): boolean => ids.every((id, i) => i === 0 || ids[i - 1]! < id)

test('an id has its form, and the time of its making', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 50 - 1 }), (now) => {
      // Far from the time before, so that the order within a moment has no part in it.
      newId((now + 2 ** 49) % 2 ** 50)
      const id = newId(now)
      assert.match(id, form)
      assert.equal(timeOfId(id), now)
    }),
  )
  assert.ok(Math.abs(timeOfId(newId()) - Date.now()) < 60_000)
})

test('the form refuses what is no id', () => {
  const id = newId(NOW)
  for (const text of [
    '',
    id.slice(1),
    `${id}0`,
    id.toUpperCase(),
    `${id.slice(1)}i`,
    `${id.slice(1)}l`,
    `${id.slice(1)}o`,
    `${id.slice(1)}u`,
    `${id}\n`,
    `\n${id}`,
    `${id.slice(1)}-`,
  ])
    assert.doesNotMatch(text, form)
})

test('ids of one moment sort in the order of their making, far more than a moment can make', () => {
  const ids = Array.from({ length: 100_000 }, () => newId(NOW))
  assert.ok(isSorted(ids))
  assert.equal(new Set(ids).size, ids.length)
  assert.ok(timeOfId(ids.at(-1)!) - NOW < 10)
})

test('ids of later moments sort after, in every way of sorting', () => {
  const ids: string[] = []
  for (let now = NOW + 60_000; now < NOW + 120_000; now += 97)
    for (let i = 0; i < 3; i++) ids.push(newId(now))
  assert.ok(isSorted(ids))
  assert.deepEqual(ids.toSorted(new Intl.Collator('en').compare), ids)
  assert.deepEqual(
    ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
    ids,
  )
})

test('a clock that steps back a little does not disturb the order', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 1, maxLength: 50 }), (steps) => {
      let now = NOW + 10_000_000
      let latest = now
      newId(now - 10_000_000)
      const ids = [newId(now)]
      for (const step of steps) {
        now = Math.max(latest - 1000, now + step)
        latest = Math.max(latest, now)
        ids.push(newId(now))
      }
      assert.ok(isSorted(ids))
      assert.equal(timeOfId(ids.at(-1)!), latest)
    }),
  )
})

test('the least id of a time stands between those that were made before and from then on', () => {
  assert.ok(newId(NOW - 1) < leastIdOf(NOW))
  assert.ok(leastIdOf(NOW) < newId(NOW))
})

test('a clock that is set back for good is followed', () => {
  newId(NOW + 3_600_000)
  assert.equal(timeOfId(newId(NOW)), NOW)
})

test('neighbours share nothing but their time and order', () => {
  const random = new Set<string>()
  const seen = Array.from({ length: 13 }, () => new Set<string>())
  for (let i = 0; i < 20_000; i++) {
    const part = newId(NOW + 7_200_000).slice(13)
    random.add(part)
    seen.forEach((characters, at) => characters.add(part[at]!))
  }
  assert.equal(random.size, 20_000)
  for (const characters of seen) assert.equal(characters.size, 32)
})

test('ids within an id are the same each time, sort in their order, and do not tell it', () => {
  const id = newId(NOW)
  const last = id.slice(0, 10) + 'zzz' + id.slice(13)
  for (const whole of [id, last]) {
    const ids = idsWithin(whole, 1000)
    assert.deepEqual(idsWithin(whole, 1000), ids)
    assert.ok(isSorted(ids))
    for (const one of ids) assert.match(one, form)
    assert.equal(new Set([id, ...ids].map((one) => one.slice(13))).size, 1001)
    assert.ok(ids[0]!.startsWith(whole.slice(0, 13)))
    assert.ok(timeOfId(ids.at(-1)!) - timeOfId(whole) <= 1)
  }
})
