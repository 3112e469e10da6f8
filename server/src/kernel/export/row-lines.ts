import { isoTime } from '../../base/clock.ts'
import { deriveKey } from '../../base/crypto.ts'
import { StartError } from '../../base/start-error.ts'
import type { ColumnKind } from '../../db/catalogue.ts'
import type { LoadedRow } from '../../db/table-loader.ts'
import type { RowExport } from '../wire/table-export.ts'
import type { ExportedFile } from './exported-files.ts'

type Value = string | number | null
type Values = Record<string, Value>

const TIME_MAX = 8.64e15
const TIME = /(?:^|_)(?:at|from|until|since)$/
const FLAG = /^(?:is|has|by)_/

/** The lines of a file, those of a piece of rows together. */
export async function* rowLines(
  pieces: AsyncIterable<LoadedRow[]>,
  file: ExportedFile,
  { secret, hasSecrets }: { readonly secret: string; readonly hasSecrets: boolean },
): AsyncGenerator<string> {
  const { table, form, sealed } = file
  const hidden = new Set([...(form?.secrets ?? []), ...sealed.map(({ column }) => column)])
  const keys = sealed.map(({ column, purpose }) => ({ column, key: deriveKey(secret, purpose) }))
  const fields = table.columns
    .filter(({ name }) => (hasSecrets || !hidden.has(name)) && !form?.without?.includes(name))
    .map(({ name, kind }) => ({ name, field: fieldOf(name, form), show: showerOf(name, kind, form) }))
  for await (const rows of pieces) {
    let lines = ''
    for (const one of rows) {
      const row = valuesOf(one, table.columns)
      if (hasSecrets) for (const { column, key } of keys) row[column] = opened(row, column, key, table.name)
      const plain: Record<string, unknown> = {}
      for (const { name, field, show } of fields)
        if (row[name] !== null || !form) plain[field] = show(row[name]!)
      const line = form?.lineOf ? await form.lineOf(row, plain as Values, hasSecrets) : plain
      lines += `${JSON.stringify(line)}\n`
    }
    yield lines
  }
}

/** The values of a row as a query would have them. */
const valuesOf = (row: LoadedRow, columns: ExportedFile['table']['columns']): Values =>
  Object.fromEntries(
    columns.map(({ name, kind }, at) => {
      const value = row[at]!
      const isNumber = (kind === 'integer' || kind === 'boolean') && Number.isSafeInteger(Number(value))
      return [name, value !== null && isNumber ? Number(value) : value]
    }),
  )

function opened(row: Values, column: string, key: ReturnType<typeof deriveKey>, table: string): Value {
  if (row[column] === null) return null
  try {
    return key.open(String(row[column]))
  } catch (cause) {
    throw new StartError(
      `SIXWIRE_SECRET: ${table}.${column} has what was encrypted with another secret: restore that one, or export without --secrets`,
      { cause },
    )
  }
}

/** What nobody has declared keeps its name. */
function fieldOf(name: string, form: RowExport | undefined): string {
  if (!form) return name
  return (
    form.names?.[name] ??
    (name === 'id' ? '_id' : name.replaceAll(/_([a-z\d])/g, (_, letter: string) => letter.toUpperCase()))
  )
}

function showerOf(name: string, kind: ColumnKind, form: RowExport | undefined): (value: Value) => unknown {
  if (kind === 'boolean' || (form && kind === 'integer' && FLAG.test(name))) return (value) => value === 1
  if (form?.json?.includes(name)) return (value) => jsonOf(String(value))
  if (form && kind === 'integer' && TIME.test(name))
    return (value) => (Math.abs(Number(value)) <= TIME_MAX ? isoTime(Number(value)) : value)
  return (value) => value
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
