import { errors, invalid, type ApiError } from '../../../../../base/errors.ts'
import { csvRecords, type CsvSeparator } from '../../../../../base/csv-records.ts'
import { jsonLinesIn, objectOrFault, parseRecord } from '../../../../../base/json-lines.ts'
import { decodeUtf8 } from '../../../../../base/json.ts'
import { STORED_BYTES_MAX, type Fields } from '../../language/document-json.ts'
import { typesAt } from '../../language/schema/schema-types.ts'
import { columnOf, fieldsOf, type CsvColumn, type TypedColumn } from './csv-cells.ts'
import type { TransferFormat } from './export-documents.ts'
import { plainJson } from './extended-json.ts'
import { elementsIn, openArray } from './json-elements.ts'

/** A document may be written with more white space than it is stored with. */
const RECORD_MAX = 4 * STORED_BYTES_MAX
const COLUMNS_MAX = 10_000

/** A line of a file: the fields of a document, or what is wrong with it. */
export type ImportRecord = {
  readonly line: number
  readonly fields: Fields | ApiError
  /** What separates the cells of its file, if that is CSV. */
  readonly separator?: CsvSeparator
}

/**
 * The documents of a file. One that cannot be read does not keep the next ones from being read.
 *
 * @param schema it decides about the types of cells
 * @throws VALIDATION_ERROR or PAYLOAD_TOO_LARGE where nothing can be told of what follows
 */
export const recordsOf = (
  format: TransferFormat,
  bytes: AsyncIterable<Buffer>,
  schema: unknown,
): AsyncGenerator<ImportRecord> => (format === 'csv' ? ofCsv(bytes, schema) : ofJson(bytes))

async function* ofJson(bytes: AsyncIterable<Buffer>): AsyncGenerator<ImportRecord> {
  const { isArray, pieces } = await openArray(bytes)
  yield* isArray ? ofArray(pieces) : ofLines(pieces)
}

async function* ofArray(bytes: AsyncIterable<Buffer>): AsyncGenerator<ImportRecord> {
  const fault = (line: number) =>
    errors.payload_too_large({ message: `The document on line ${line} has more than ${RECORD_MAX} bytes.` })
  for await (const elements of elementsIn(bytes, { bytes: RECORD_MAX, fault }))
    for (const { line, bytes: text } of elements) {
      const fields = objectOrFault(() => decodeUtf8(text, ''), parseDocument)
      if (fields) yield { line, fields }
    }
}

async function* ofLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<ImportRecord> {
  const instead = ', or an array of them, or send format=csv for a table'
  const lines = jsonLinesIn(bytes, { lineMax: RECORD_MAX, noun: 'document', instead, parse: parseDocument })
  for await (const { line, value } of lines) yield { line, fields: value }
}

/** Also the values of MongoDB's Extended JSON. */
function parseDocument(text: string): unknown {
  const sent = parseRecord(text)
  return text.includes('"$') ? plainJson(sent) : sent
}

async function* ofCsv(bytes: AsyncIterable<Buffer>, schema: unknown): AsyncGenerator<ImportRecord> {
  let columns: readonly TypedColumn[] | undefined
  for await (const record of csvRecords(textOf(bytes), RECORD_MAX)) {
    const { line, cells, separator } = record
    if (!columns) {
      columns = columnsOf(cells).map((column) => ({ column, types: typesAt(schema, column) }))
      continue
    }
    const columnNames = columns
    const fields = objectOrFault(() => {
      if (cells.length > columnNames.length)
        throw invalid({
          path: '',
          message: `has ${cells.length} cells, and there are ${columnNames.length} headings`,
        })
      // What no request could bring, no table brings: U+0000, or a field __proto__.
      return JSON.stringify(fieldsOf(columnNames, record))
    })
    if (fields) yield { line, fields, separator }
  }
}

function columnsOf(headings: readonly string[]): readonly CsvColumn[] {
  const columns = headings.map(columnOf)
  if (columns.length > COLUMNS_MAX)
    throw invalid({ path: '/body/file', message: `has more than ${COLUMNS_MAX} headings` })
  const names = columns.map((column) => JSON.stringify(column).slice(0, -1))
  const sorted = names.toSorted()
  for (const [i, name] of sorted.entries()) {
    const next = sorted[i + 1]
    if (next === name || next?.startsWith(`${name},`))
      throw invalid({
        path: '/body/file',
        message: `two headings are the same or inside of each other: ${headings[names.indexOf(next)]}`,
      })
  }
  return columns
}

async function* textOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (piece?: Buffer): string => {
    try {
      return piece ? decoder.decode(piece, { stream: true }) : decoder.decode()
    } catch {
      throw invalid({ path: '/body/file', message: 'This is not UTF-8: send the text encoded as UTF-8.' })
    }
  }
  for await (const piece of bytes) yield decode(piece)
  yield decode()
}
