import { hash, randomFillSync } from 'node:crypto'

// Crockford's base 32 in lower case: no i, l, o, u; sorts as bytes in every collation.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const TIME_CHARACTERS = 10
const ORDER_CHARACTERS = 3
const RANDOM_CHARACTERS = 13
const ORDER_MAX = 32 ** ORDER_CHARACTERS - 1
const STEP_BACK_MS = 1_000

/** Random characters of the alphabet. */
const pool = Buffer.alloc(RANDOM_CHARACTERS * 256)
let poolAt = pool.length

function fillPool(): void {
  randomFillSync(pool)
  for (let i = 0; i < pool.length; i++) pool[i] = alphabet.charCodeAt(pool[i]! & 31)
  poolAt = 0
}

function encode(value: number, characters: number): string {
  let text = ''
  for (let i = 0; i < characters; i++) {
    text = alphabet[value % 32] + text
    value = Math.floor(value / 32)
  }
  return text
}

let lastTime = 0
let lastTimeText = encode(0, TIME_CHARACTERS)
let order = 0

function begin(time: number): void {
  lastTime = time
  lastTimeText = encode(time, TIME_CHARACTERS)
  order = 0
}

/**
 * A new record identifier: 26 characters of lower-case base 32.
 * 50 bits of milliseconds, 15 bits that count within the millisecond, 65 random bits,
 * so ids sort by time of creation (strictly within one process) and can't be guessed from others.
 * If the clock steps back by at most a second, the latest time stays in use; beyond that the clock is followed.
 * The layout follows UUID version 7 with a counter (RFC 9562, section 6.2, method 1).
 *
 * @param now milliseconds since 1970
 */
export function newId(now: number = Date.now()): string {
  if (now > lastTime || lastTime - now > STEP_BACK_MS) begin(now)
  else if (order < ORDER_MAX) order++
  else begin(lastTime + 1) // borrowed from the next millisecond
  if (poolAt === pool.length) fillPool()
  const random = pool.toString('latin1', poolAt, (poolAt += RANDOM_CHARACTERS))
  return lastTimeText + encode(order, ORDER_CHARACTERS) + random
}

/**
 * Identifiers for the parts of what is created under one id: the same for the same id, so that creating them again changes
 * nothing. They sort in this order, and cannot be guessed from each other as long as the id is secret.
 *
 * @param count at most 32,768
 */
export function idsWithin(id: string, count: number): string[] {
  const time = timeOfId(id)
  const first = valueOf(id.slice(TIME_CHARACTERS, TIME_CHARACTERS + ORDER_CHARACTERS))
  return Array.from({ length: count }, (_, i) => {
    const order = first + i
    const bytes = hash('sha256', `${id} ${i}`, 'buffer')
    let random = ''
    for (let at = 0; at < RANDOM_CHARACTERS; at++) random += alphabet[bytes[at]! & 31]
    // Beyond what a millisecond counts, they are of the next one.
    const place = encode(time + Math.floor(order / (ORDER_MAX + 1)), TIME_CHARACTERS)
    return place + encode(order % (ORDER_MAX + 1), ORDER_CHARACTERS) + random
  })
}

/** The form of every identifier, for schemas. */
export const idPattern = '^[0-9a-hjkmnp-tv-z]{26}$'

/**
 * The form of an identifier that may come from another system: `idPattern`'s, MongoDB's, Firestore's, UUIDs. Such ids do not sort
 * by time.
 */
export const recordIdPattern = '^[A-Za-z0-9_-]{1,64}$'

/** The lower bound of ids that are created at this time or later: it sorts before them, and after all earlier ids. */
export const leastIdOf = (time: number): string => encode(time, TIME_CHARACTERS)

/** The time at which an id was created, in milliseconds since 1970. */
export const timeOfId = (id: string): number => valueOf(id.slice(0, TIME_CHARACTERS))

function valueOf(characters: string): number {
  let value = 0
  for (let i = 0; i < characters.length; i++) value = value * 32 + alphabet.indexOf(characters[i]!)
  return value
}
