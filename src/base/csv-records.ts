import { invalid } from './errors.ts'

/** A record of CSV with the line that it begins on. */
export type CsvRecord = { readonly line: number; readonly cells: readonly string[] }

/**
 * Reads CSV (RFC 4180), also with line feeds alone. An empty line is no record; a byte order mark is passed over.
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
  let cell = ''
  let length = 0
  let state: 'start' | 'plain' | 'quoted' | 'closed' = 'start'
  let isFirst = true
  let wasReturn = false
  const fault = (message: string) => invalid({ path: '/body', message: `line ${line}: ${message}` })
  const endCell = (): void => {
    cells.push(cell)
    cell = ''
    state = 'start'
  }
  function endRecord(): CsvRecord | undefined {
    const isEmpty = cells.length === 0 && cell === '' && state === 'start'
    endCell()
    const record = { line: firstLine, cells }
    cells = []
    length = 0
    return isEmpty ? undefined : record
  }
  for await (const piece of text) {
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
      } else if (character === ',') endCell()
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
    isFirst = false
  }
  if (state === 'quoted') throw fault('a quote is not closed')
  const record = endRecord()
  if (record) yield record
}
