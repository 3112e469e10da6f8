import { invalid } from './errors.ts'

/** What may separate the cells of a file. */
export const CSV_SEPARATORS = [',', ';', '\t'] as const
export type CsvSeparator = (typeof CSV_SEPARATORS)[number]

/** A record of CSV with the line that it begins on, and which of its cells are in quotes. */
export type CsvRecord = {
  readonly line: number
  readonly cells: readonly string[]
  readonly isQuoted: readonly boolean[]
  readonly separator: CsvSeparator
}

/**
 * Reads CSV (RFC 4180), also with line feeds alone. The separator is the one that the first line has most of. An empty line
 * is no record; a byte order mark is passed over.
 *
 * @param text in pieces, which may end anywhere
 * @param charactersMax of one record
 * @throws VALIDATION_ERROR with the line, for a quote that stands where none can, is not closed, or for a record that is too long
 */
export async function* csvRecords(
  text: AsyncIterable<string>,
  charactersMax: number,
): AsyncGenerator<CsvRecord> {
  let [line, firstLine] = [1, 1]
  let cells: string[] = []
  let isQuoted: boolean[] = []
  let cell = ''
  let length = 0
  let state: 'start' | 'plain' | 'quoted' | 'closed' = 'start'
  let separator: CsvSeparator | undefined
  let wasReturn = false
  const fault = (message: string) => invalid({ path: '/body', message: `line ${line}: ${message}` })
  const endCell = (): void => {
    cells.push(cell)
    isQuoted.push(state === 'closed')
    cell = ''
    state = 'start'
  }
  function endRecord(): CsvRecord | undefined {
    const isEmpty = cells.length === 0 && cell === '' && state === 'start'
    endCell()
    const record = { line: firstLine, cells, isQuoted, separator: separator! }
    cells = []
    isQuoted = []
    length = 0
    return isEmpty ? undefined : record
  }
  for await (const piece of fromWholeHeading(text, charactersMax)) {
    const isFirst = separator === undefined
    separator ??= headingReader()(piece).separator
    for (const character of isFirst ? piece.replace(/^\ufeff/, '') : piece) {
      const isLineFeed = character === '\n'
      if (isLineFeed && wasReturn && state !== 'quoted') {
        wasReturn = false
        continue
      }
      wasReturn = character === '\r'
      if (++length > charactersMax) throw fault(`the record is longer than ${charactersMax} characters`)
      if (state === 'quoted') {
        if (character === '"') state = 'closed'
        else cell += character
        if (isLineFeed) line++
      } else if (character === '"') {
        if (state === 'plain') throw fault('a quote stands inside of a cell that is not quoted')
        if (state === 'closed') cell += '"'
        state = 'quoted'
      } else if (character === separator) endCell()
      else if (character === '\r' || isLineFeed) {
        const record = endRecord()
        line++
        firstLine = line
        if (record) yield record
      } else if (state === 'closed') throw fault('text stands behind a closing quote')
      else {
        cell += character
        state = 'plain'
      }
    }
  }
  if (state === 'quoted') throw fault('a quote is not closed')
  const record = endRecord()
  if (record) yield record
}

/** The pieces of a text, of which the first has the whole heading. */
async function* fromWholeHeading(text: AsyncIterable<string>, charactersMax: number): AsyncGenerator<string> {
  const read = headingReader()
  let first = ''
  let isWhole = false
  for await (const piece of text) {
    if (isWhole) {
      yield piece
      continue
    }
    first += piece
    isWhole = read(piece).isWhole || first.length > charactersMax
    if (isWhole) yield first
  }
  if (!isWhole) yield first
}

/** Reads a heading piece by piece: which separator it has most of so far, and whether it has ended. */
function headingReader(): (piece: string) => { separator: CsvSeparator; isWhole: boolean } {
  const counts = CSV_SEPARATORS.map(() => 0)
  let hasBegun = false
  let isQuoted = false
  return (piece) => {
    let isWhole = false
    for (const character of hasBegun ? piece : piece.replace(/^[\ufeff\r\n]+/, '')) {
      hasBegun = true
      isWhole = !isQuoted && (character === '\r' || character === '\n')
      if (isWhole) break
      if (character === '"') isQuoted = !isQuoted
      const at = isQuoted ? -1 : CSV_SEPARATORS.indexOf(character as CsvSeparator)
      if (at !== -1) counts[at]!++
    }
    return { separator: CSV_SEPARATORS[counts.indexOf(Math.max(...counts))]!, isWhole }
  }
}
