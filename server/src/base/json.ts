import { isUtf8 } from 'node:buffer'
import { invalid } from './errors.ts'
import { boundedPointer } from './json-pointer.ts'

type Limits = { maxDepth: number; at: string; takesRounded: boolean; takesAnyKey: boolean }

/** `at` is an index in an array and a key in an object; `expectsKey` is true if the next string is a key. */
type Container = { value: object; at: string | number; expectsKey: boolean }

const TOO_DEEP = -1

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const ARRAY_OPENS = 0x5b
const BACKSLASH = 0x5c
const ARRAY_CLOSES = 0x5d
const OBJECT_OPENS = 0x7b
const OBJECT_CLOSES = 0x7d

/**
 * Reads JSON (RFC 8259) and refuses what parsers disagree about or a database can't store.
 * Refused, each with a JSON pointer (RFC 6901) to the first fault: text that is not JSON, a key twice in one
 * object, keys named `__proto__` or `constructor`, nesting deeper than `maxDepth`, half a surrogate pair or
 * U+0000 in a string or key, numbers beyond a double's range, and integers that a double would change.
 * An integer is a number written without fraction and exponent: 1e23 is read as the nearest double.
 * The time is linear in the length of the text.
 *
 * @param options.maxDepth levels of arrays and objects, including the outermost one; at most 1000
 * @param options.at JSON pointer of the value itself
 * @param options.takesRounded also takes integers that a double is written as: 1.2345678901234567e20 is stored as
 *   123456789012345670000
 * @param options.takesAnyKey also takes the keys `__proto__` and `constructor`, as the value's own: for what is read member
 *   by member, and never copied into another object
 * @param options.hint follows the message if the text is not JSON
 * @throws VALIDATION_ERROR
 */
export function parseStrictJson(
  text: string,
  options: {
    maxDepth?: number
    at?: string
    takesRounded?: boolean
    takesAnyKey?: boolean
    hint?: string
  } = {},
): unknown {
  const { maxDepth = 64, at = '/body', takesRounded = false, takesAnyKey = false, hint = '' } = options
  const members = countMembers(text, maxDepth)
  if (members !== TOO_DEEP) {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (error) {
      throw invalid({ path: at, message: notJson(text, error) + hint })
    }
    if (countPlainMembers(value, text.includes('\\') || !text.isWellFormed()) === members) return value
  }
  return readCarefully(text, { maxDepth, at, takesRounded, takesAnyKey })
}

/**
 * JSON.parse for text that this server wrote itself, such as a stored document. Refuses nothing that is JSON.
 * The JSON.parse of Node 24 and 26 may confuse a key written with an escape with a key of another object that
 * contains a backslash (https://github.com/nodejs/node/issues/63785), so one user's document could change another's.
 * The wrong key always contains a backslash, so text with such a key is read again.
 *
 * @throws SyntaxError if the text is not JSON
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  return text.includes('\\') && Number.isNaN(countPlainMembers(value, true)) ? readCarefully(text) : value
}

/**
 * Decodes a request's bytes. A byte order mark at the beginning is dropped, as RFC 8259 section 8.1 allows.
 *
 * @param at the JSON pointer in the error
 * @throws VALIDATION_ERROR if the bytes are not UTF-8
 */
export function decodeUtf8(bytes: Uint8Array, at = '/body'): string {
  if (!isUtf8(bytes))
    throw invalid({ path: at, message: 'This is not UTF-8: send the text encoded as UTF-8.' })
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

// Every member has one colon outside strings, so the parsed value has fewer members if a key occurs twice.
// The depth is checked before anything is parsed: JSON.parse needs 90 MB for a mebibyte of nested arrays.
function countMembers(text: string, maxDepth: number): number {
  let members = 0
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === QUOTE) i = closingQuote(text, i)
    else if (c === COLON) members++
    else if (c === OBJECT_OPENS || c === ARRAY_OPENS) {
      if (++depth > maxDepth) return TOO_DEEP
    } else if (c === OBJECT_CLOSES || c === ARRAY_CLOSES) depth--
  }
  return members
}

/** The index of the quote that ends the string, or the text's length if there is none. */
function closingQuote(text: string, opening: number): number {
  let quote = text.indexOf('"', opening + 1)
  while (quote !== -1) {
    let run = quote
    while (text.charCodeAt(run - 1) === BACKSLASH) run--
    if ((quote - run) % 2 === 0) return quote
    quote = text.indexOf('"', quote + 1)
  }
  return text.length
}

/** The number of members, or NaN if the text must be read key by key. The recursion is as deep as the JSON. */
function countPlainMembers(value: unknown, checkText: boolean): number {
  if (typeof value === 'string') return checkText && textFault(value) ? NaN : 0
  if (typeof value === 'number') {
    return value > Number.MAX_SAFE_INTEGER || value < Number.MIN_SAFE_INTEGER ? NaN : 0
  }
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) members += countPlainMembers(value[i], checkText)
    return members
  }
  const object = value as Record<string, unknown>
  for (const key in object) {
    if (key === '__proto__' || key === 'constructor') return NaN
    if (checkText && (key.includes('\\') || textFault(key))) return NaN
    members += 1 + countPlainMembers(object[key], checkText)
  }
  return members
}

/**
 * Reads text that JSON.parse accepts, key by key, and throws at the first fault.
 * Text deeper than `maxDepth` need not be JSON: this finds its depth, or an earlier fault.
 */
function readCarefully(text: string, limits?: Limits): unknown {
  let root: unknown
  let parent: Container | undefined
  const open: Container[] = []
  const refuse = (message: string | undefined): void => {
    if (limits && message !== undefined)
      throw invalid({ path: boundedPointer(limits.at, open.map(keyOf)), message })
  }
  const addValue = (value: unknown): void => {
    if (!parent) root = value
    else if (parent.at !== '__proto__') (parent.value as Record<string | number, unknown>)[parent.at] = value
    else
      Object.defineProperty(parent.value, '__proto__', {
        value,
        writable: true,
        enumerable: true,
        configurable: true,
      })
  }
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === OBJECT_OPENS || c === ARRAY_OPENS) {
      if (open.length === limits?.maxDepth)
        refuse(`Nested deeper than ${limits.maxDepth} levels: make it flatter.`)
      const isObject = c === OBJECT_OPENS
      const value = isObject ? {} : []
      addValue(value)
      parent = { value, at: isObject ? '' : 0, expectsKey: isObject }
      open.push(parent)
    } else if (c === OBJECT_CLOSES || c === ARRAY_CLOSES) {
      open.pop()
      parent = open.at(-1)
    } else if (c === COMMA) {
      if (typeof parent?.at === 'number') parent.at++
      else if (parent) parent.expectsKey = true
    } else if (c === QUOTE) {
      const end = closingQuote(text, i)
      const string = unquote(text.slice(i, end + 1))
      i = end
      if (parent?.expectsKey) {
        parent.at = string
        parent.expectsKey = false
        refuse(textFault(string) ?? keyFault(string, parent.value, limits?.takesAnyKey === true))
      } else {
        refuse(textFault(string))
        addValue(string)
      }
    } else if (isInWord(c)) {
      const start = i
      while (isInWord(text.charCodeAt(i + 1))) i++
      const word = text.slice(start, i + 1)
      const number = Number(word)
      refuse(numberFault(word, number, limits?.takesRounded === true))
      addValue(Number.isNaN(number) ? LITERALS[word] : number)
    }
  }
  return root
}

const LITERALS: Record<string, unknown> = { true: true, false: false, null: null }

/** Digits, letters, and the signs and point of numbers. */
const isInWord = (c: number): boolean =>
  (c >= 0x30 && c <= 0x39) ||
  ((c | 0x20) >= 0x61 && (c | 0x20) <= 0x7a) ||
  c === 0x2b ||
  c === 0x2d ||
  c === 0x2e

function unquote(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return JSON.parse(quoted) as string
  } catch {
    // Only in text that is too deep, which JSON.parse has not checked: the path then shows the key as it was sent.
    return quoted.slice(1, -1)
  }
}

function textFault(text: string): string | undefined {
  if (text.includes('\0')) return 'Holds the character U+0000: leave it out.'
  if (!text.isWellFormed()) return 'Holds half of a surrogate pair (U+D800 to U+DFFF): send whole characters.'
  return undefined
}

function keyFault(key: string, siblings: object, takesAnyKey: boolean): string | undefined {
  if (!takesAnyKey && (key === '__proto__' || key === 'constructor'))
    return `A key may not be named "${key}": rename it.`
  if (Object.hasOwn(siblings, key)) return 'This key occurs more than once in its object: send it once.'
  return undefined
}

function numberFault(source: string, value: number, takesRounded: boolean): string | undefined {
  if (!(Math.abs(value) > Number.MAX_SAFE_INTEGER)) return undefined
  if (Math.abs(value) === Infinity) return 'This number is too large for a double: send it as a string.'
  // A double represents 2^60 exactly, but it would be answered as 1152921504606847000.
  if (!/^-?\d+$/.test(source)) return undefined
  if (String(value) === source && (takesRounded || String(BigInt(value)) === source)) return undefined
  return 'A double cannot represent this integer exactly: send it as a string.'
}

// The parser's own message quotes the text, which may contain a password: only one character of it is answered.
function notJson(text: string, error: unknown): string {
  if (text.trim() === '') return 'This is empty: send JSON.'
  const [, position] = /at position (\d+)/.exec((error as Error).message) ?? []
  const at = position === undefined ? unexpectedAt(text) : Number(position)
  const lines = text.slice(0, at).split('\n')
  const found = at < text.length ? JSON.stringify(String.fromCodePoint(text.codePointAt(at)!)) : 'the end'
  return `This is not JSON: see line ${lines.length} column ${lines.at(-1)!.length + 1}, where ${found} is not expected.`
}

const WORD = /-?\d[\d.eE+-]*|true|false|null/y

/** Where something else is in place of a value: the parser gives no position of that. */
function unexpectedAt(text: string): number {
  let before = ':'
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!
    if (/\s/.test(c)) continue
    WORD.lastIndex = i
    if (c === '"') i = closingQuote(text, i)
    else if (WORD.test(text)) i = WORD.lastIndex - 1
    else if (!'[]{},:'.includes(c) || (/[[,:][\],}:]/.test(before + c) && before + c !== '[]')) return i
    before = c
  }
  return text.length
}

const keyOf = ({ at }: Container): string | number => at
