/** What is wrong with a text that should be JSON, and where. */
export type JsonFault = { from: number; to: number; message: string }

export type JsonRead = { value: unknown; faults: readonly [] } | { faults: readonly JsonFault[] }

const DEPTH_MAX = 64
const FAULTS_MAX = 100
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const WORDS: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

type Reader = { text: string; at: number; faults: JsonFault[] }

/** Ends the reading: what follows cannot be understood. */
class Stop extends Error {}

/**
 * Reads JSON as the server does, with the place of each fault: also a key twice in one object, numbers that a double would
 * change, names that the server does not take, and text that no database stores. A text of 1 MiB takes some 20 ms.
 *
 * @param text of a document's fields
 */
export function readJson(text: string): JsonRead {
  const reader: Reader = { text, at: 0, faults: [] }
  try {
    const value = readValue(reader, 0)
    skipBlanks(reader)
    if (reader.at < text.length) stop(reader, 'There is text after the value.')
    return reader.faults.length === 0 ? { value, faults: [] } : { faults: reader.faults }
  } catch (error) {
    if (error instanceof Stop) return { faults: reader.faults }
    throw error
  }
}

function add(reader: Reader, from: number, to: number, message: string): void {
  if (reader.faults.length < FAULTS_MAX) reader.faults.push({ from, to, message })
}

function stop(reader: Reader, message: string, from = reader.at, to = from + 1): never {
  const end = reader.text.length
  add(reader, Math.min(from, end), Math.min(to, end), message)
  throw new Stop()
}

function skipBlanks(reader: Reader): void {
  const { text } = reader
  for (;;) {
    const code = text.charCodeAt(reader.at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
    reader.at++
  }
}

function readValue(reader: Reader, depth: number): unknown {
  skipBlanks(reader)
  const { text, at } = reader
  const first = text[at]
  if (first === '{' || first === '[') {
    if (depth === DEPTH_MAX) stop(reader, `It is deeper than ${DEPTH_MAX} levels: make it flatter.`)
    return first === '{' ? readObject(reader, depth + 1) : readArray(reader, depth + 1)
  }
  if (first === '"') return readString(reader)
  if (first === undefined) stop(reader, 'A value is missing here.', Math.max(0, at - 1))
  for (const [word, value] of WORDS)
    if (text.startsWith(word, at)) {
      reader.at += word.length
      return value
    }
  return readNumber(reader)
}

function readNumber(reader: Reader): number {
  const { text, at } = reader
  NUMBER.lastIndex = at
  const match = NUMBER.exec(text)
  if (!match) stop(reader, 'This is not a value: a text needs double quotes.', at, endOfWord(text, at))
  const [source, fraction, exponent] = match
  reader.at += source.length
  if (/[\w.]/.test(text[reader.at] ?? '')) stop(reader, 'This is not a number.', at, endOfWord(text, at))
  const value = Number(source)
  if (!Number.isFinite(value)) add(reader, at, reader.at, 'This number is too large.')
  else if (fraction === undefined && exponent === undefined && source !== '-0' && String(value) !== source)
    if (!isSameInteger(value, source))
      add(reader, at, reader.at, `This number would be changed to ${BigInt(value)}: write it as a text.`)
  return value
}

/** Large whole numbers are written with an exponent. */
const isSameInteger = (value: number, source: string): boolean => BigInt(value) === BigInt(source)

const endOfWord = (text: string, from: number): number => {
  const length = text.slice(from, from + 100).search(/[\s,:[\]{}"]/)
  return from + Math.max(1, length === -1 ? Math.min(100, text.length - from) : length)
}

function readString(reader: Reader): string {
  const { text, at } = reader
  const end = closingQuote(text, at)
  if (end === -1) stop(reader, 'The quote that ends this text is missing.', at, at + 1)
  reader.at = end + 1
  let value: string
  try {
    value = JSON.parse(text.slice(at, end + 1)) as string
  } catch {
    stop(reader, 'A text on one line, with \\n for a new line and \\\\ for a backslash.', at, end + 1)
  }
  if (value.includes('\0')) add(reader, at, end + 1, 'U+0000 cannot be stored.')
  if (!value.isWellFormed()) add(reader, at, end + 1, 'Half of a surrogate pair cannot be stored.')
  return value
}

function closingQuote(text: string, opening: number): number {
  for (let quote = text.indexOf('"', opening + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let run = quote
    while (text[run - 1] === '\\') run--
    if ((quote - run) % 2 === 0) return quote
  }
  return -1
}

/** What stands between two members, or ends them. */
function readSeparator(reader: Reader, end: ']' | '}'): boolean {
  skipBlanks(reader)
  const next = reader.text[reader.at]
  if (next === end) {
    reader.at++
    return false
  }
  if (next === undefined)
    stop(reader, `A ${end} is missing at the end.`, Math.max(0, reader.text.trimEnd().length - 1))
  if (next !== ',') stop(reader, `A comma or ${end} is missing before this.`)
  reader.at++
  skipBlanks(reader)
  if (reader.text[reader.at] === end) stop(reader, 'There is a comma too many before this.')
  return true
}

function readArray(reader: Reader, depth: number): unknown[] {
  const items: unknown[] = []
  reader.at++
  skipBlanks(reader)
  if (reader.text[reader.at] === ']') {
    reader.at++
    return items
  }
  do items.push(readValue(reader, depth))
  while (readSeparator(reader, ']'))
  return items
}

function readObject(reader: Reader, depth: number): object {
  const fields = new Map<string, unknown>()
  reader.at++
  skipBlanks(reader)
  if (reader.text[reader.at] === '}') {
    reader.at++
    return {}
  }
  do {
    skipBlanks(reader)
    const from = reader.at
    if (reader.text[from] !== '"') stop(reader, 'A name in double quotes is missing here.')
    const name = readString(reader)
    const fault = fields.has(name) ? 'This name is there twice.' : faultOfName(name)
    if (fault) add(reader, from, reader.at, fault)
    skipBlanks(reader)
    if (reader.text[reader.at] !== ':') stop(reader, 'A colon is missing before this.')
    reader.at++
    fields.set(name, readValue(reader, depth))
  } while (readSeparator(reader, '}'))
  // Defines each as the object's own, also `__proto__`.
  return Object.fromEntries(fields)
}

/** Why a field cannot have a name; undefined if it can. */
export function faultOfName(name: string): string | undefined {
  if (name.startsWith('$')) return 'A name must not begin with $.'
  if (name === '__proto__' || name === 'constructor') return `No field can have the name ${name}.`
  return undefined
}

/** The line and column of a place in a text, from 1. */
export function positionOf(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at)
  return { line: before.split('\n').length, column: at - before.lastIndexOf('\n') }
}
