import { ApiError, type Issue } from '../../../../base/errors.ts'
import type { Database } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import type { CollectionDefinition } from '../definition/collection.ts'
import { readDocument, writeDocument, type Fields, type ServiceFields } from '../language/document-json.ts'
import { changeFields, type FieldMigration } from './field-changes.ts'

const PAGE = 200
const EXAMPLES_MAX = 10
const ISSUES_MAX = 3

/** A document that does not fit a schema, and its first faults. */
export type UnfitDocument = { readonly _id: string; readonly issues: Issue[] }

/** What documents of a collection are to a definition. */
export type DocumentsReport = {
  /** How many were looked at. */
  readonly documents: number
  /** How many of them do not fit. */
  readonly unfit: number
  /** The first ten that do not fit. */
  readonly examples: UnfitDocument[]
  /** How many each change of fields would change. */
  readonly changed?: number[]
}

/** The report of a definition for which no document has to be read. */
export const NOTHING_READ: DocumentsReport = { documents: 0, unfit: 0, examples: [] }

/**
 * Compares all documents of a collection with the schema of a definition, a page at a time.
 *
 * @param changes those that are made before they have to fit
 * @param progress called after each page; what it throws ends the check
 */
export async function checkDocuments(
  db: Database,
  { name, validate }: Pick<CollectionDefinition, 'name' | 'validate'>,
  progress: (report: DocumentsReport) => Promise<void> | void,
  changes: readonly FieldMigration[] = [],
): Promise<DocumentsReport> {
  let report: DocumentsReport =
    changes.length > 0 ? { ...NOTHING_READ, changed: changes.map(() => 0) } : NOTHING_READ
  if (!validate && changes.length === 0) return report
  for (let after = ''; ;) {
    const page = await db.all(sql<{ id: string; body: string }>`
      select id, body from store_documents where collection = ${name} and id > ${after} order by id limit ${PAGE}`)
    for (const { id, body } of page) {
      const { service, fields } = readDocument(body)
      const changed = changeFields(fields, changes)
      const issues = [
        ...(validate?.(changed.fields, '') ?? []),
        ...(changed.fields === fields ? [] : issuesOfSize(service, changed.fields)),
      ]
      report = withDocument(report, id, issues)
      if (report.changed)
        report = { ...report, changed: report.changed.map((n, i) => (changed.kept[i] ? n + 1 : n)) }
    }
    await progress(report)
    if (page.length < PAGE) return report
    after = page.at(-1)!.id
  }
}

function issuesOfSize(service: ServiceFields, fields: Fields): Issue[] {
  try {
    writeDocument(service, fields)
    return []
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return [{ path: '', message: error.message }]
  }
}

const withDocument = (report: DocumentsReport, _id: string, issues: Issue[]): DocumentsReport => ({
  ...report,
  documents: report.documents + 1,
  unfit: report.unfit + (issues.length > 0 ? 1 : 0),
  examples:
    issues.length > 0 && report.examples.length < EXAMPLES_MAX
      ? [...report.examples, { _id, issues: issues.slice(0, ISSUES_MAX) }]
      : report.examples,
})
