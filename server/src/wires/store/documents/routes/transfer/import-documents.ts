import type { Static } from 'typebox'

import { CSV_SEPARATORS } from '../../../../../base/csv-records.ts'
import { ApiError, errors } from '../../../../../base/errors.ts'
import { Type } from '../../../../../base/schema.ts'
import { requireRow, type Database } from '../../../../../db/database.ts'
import { sql } from '../../../../../db/sql.ts'
import type { Actor } from '../../../../../http/actor.ts'
import type { Audit } from '../../../../../kernel/audit/audit.ts'
import { messageOf } from '../bulk/bulk.ts'
import type { CollectionDefinition } from '../../definition/collection.ts'
import type { Viewer } from '../../definition/viewer.ts'
import { readDocument } from '../../language/document-json.ts'
import { attachAnyFiles } from '../../file-fields/check-files.ts'
import { checkReferences } from '../../writes/relations/check-references.ts'
import { selectIdsSql } from '../../storage/sql/document-rows.ts'
import { changeDocument } from '../../writes/change-document.ts'
import { growthOf, prepareDocument, type PreparedDocument } from '../../writes/create-document.ts'
import { checkAction, checkResult, type AccessRequest } from '../../writes/access-checks.ts'
import { stepsAround, type WriteContext } from '../../writes/write-context.ts'
import type { TransferFormat } from './export-documents.ts'
import { importedDocument, type ImportedDocument, type ImportedFields } from './imported-document.ts'
import type { ImportRecord } from './import-records.ts'

/** Documents that are written together, and how many characters of JSON they may have. */
const BATCH = 100
const BATCH_CHARACTERS = 1_048_576
const ERRORS_SHOWN = 20

export type ImportOptions = ImportedFields & {
  /** What the documents are read from, for the audit log. */
  readonly format?: TransferFormat
  /** What is done about a line whose `_id` a document has already. */
  readonly conflict: 'skip' | 'replace' | 'fail'
  /** Checks all lines, and writes nothing. */
  readonly dryRun: boolean
  /** Whether references may lead to documents and files that are not there, as those of documents from before a relation. Default: no. */
  readonly takesAnyReference?: boolean
}

export const ImportReport = Type.Object(
  {
    created: Type.Integer({ description: 'How many documents are created.' }),
    replaced: Type.Integer({ description: 'How many documents that were there are replaced.' }),
    skipped: Type.Integer({
      description: 'How many lines were skipped, because there is such a document.',
    }),
    failed: Type.Integer({ description: 'How many lines were refused, each for itself.' }),
    errors: Type.Array(Type.Object({ line: Type.Integer(), code: Type.String(), message: Type.String() }), {
      description: 'Why lines were refused, of the first 20.',
    }),
    separator: Type.Optional(
      Type.Enum(CSV_SEPARATORS, {
        description: 'Of CSV: what separates the cells, which the headings decide.',
      }),
    ),
  },
  { title: 'ImportReport' },
)
export type ImportReport = Static<typeof ImportReport>

/** A document that is refused, and why. */
export type RefusedDocument = {
  readonly line: number
  /** Absent if it could not be read. */
  readonly _id?: string
  readonly code: string
  readonly message: string
}

/** Whom an import tells how far it is. */
export type ImportWatch = {
  /** A document was refused. */
  refused?(document: RefusedDocument): void
  /** Documents are done. */
  counted?(documents: number): void
}

export type ImportContext = {
  /** Refuses writes during a restore. */
  readonly db: Database
  readonly audit: Audit
  readonly writing: WriteContext
}

/** What every line is imported with. */
type Import = {
  readonly context: WriteContext
  readonly db: Database
  readonly collection: CollectionDefinition
  readonly viewer: Viewer
  readonly options: ImportOptions
  readonly report: ImportReport
  readonly watch: ImportWatch
}

/** A line that can be read, and with which `_id` and for whom its document is created. */
type Line = Omit<ImportedDocument, 'owner'> & {
  readonly line: number
  readonly viewer: Viewer
}

/**
 * Imports documents as they arrive, in batches: each is checked and written as a single create, and one that is refused does not
 * keep others out. In a dry run each batch is rolled back, and hooks do not run.
 *
 * @throws what `records` throws, such as VALIDATION_ERROR, PAYLOAD_TOO_LARGE for a file that cannot be read on; what is written
 *   until then stays
 */
export async function importDocuments(
  { db, audit, writing }: ImportContext,
  collection: CollectionDefinition,
  viewer: Viewer,
  records: AsyncIterable<ImportRecord>,
  options: ImportOptions,
  actor: Actor,
  watch: ImportWatch = {},
): Promise<ImportReport> {
  const report: ImportReport = { created: 0, replaced: 0, skipped: 0, failed: 0, errors: [] }
  const hooks = { ...writing.hooks, runBefore: withoutHook, afterSteps: () => [] }
  const context = {
    ...writing,
    ...(options.dryRun && { hooks }),
    ...(options.takesAnyReference && { checkFiles: attachAnyFiles }),
  }
  const relations = options.takesAnyReference ? [] : collection.relations
  const running = { context, db, collection: { ...collection, relations }, viewer, options, report, watch }
  checkAction({ collection, subject: await viewer.subjectFor(collection) }, 'create')
  if (!options.dryRun) await db.batch([audit.entrySql(actor, entryOf(collection.name, options))])
  let batch: Line[] = []
  let characters = 0
  const flush = async (): Promise<void> => {
    await writeBatch(running, batch)
    batch = []
    characters = 0
  }
  for await (const record of records) {
    if (record.separator) report.separator = record.separator
    const line = lineOf(running, record)
    if (line) {
      if (batch.some((one) => idOf(one) === idOf(line))) await flush()
      batch.push(line)
      characters += JSON.stringify(line.fields).length
      if (batch.length === BATCH || characters > BATCH_CHARACTERS) await flush()
    }
    watch.counted?.(1)
  }
  await flush()
  return report
}

const entryOf = (collection: string, { dryRun: _, ...options }: ImportOptions) => ({
  action: 'documents.imported',
  target: `collection:${collection}`,
  after: options,
})

const withoutHook: WriteContext['hooks']['runBefore'] = async (_collection, _name, _viewer, _id, { next }) =>
  next ?? {}

const idOf = ({ service }: Line): string => service._id

/** Undefined if the line is refused. */
function lineOf(running: Import, { line, fields }: ImportRecord): Line | undefined {
  const { options, viewer, context } = running
  try {
    if (fields instanceof ApiError) throw fields
    const { owner, ...others } = importedDocument(fields, options, context.clock.now())
    return { line, viewer: owner === undefined ? viewer : { ...viewer, owner }, ...others }
  } catch (error) {
    const id = fields instanceof ApiError ? undefined : fields['_id']
    return noteFault(running, line, typeof id === 'string' ? id : undefined, error)
  }
}

function noteFault(
  { report, watch }: Import,
  line: number,
  id: string | undefined,
  error: unknown,
): undefined {
  if (!(error instanceof ApiError)) throw error
  const { code } = error
  const message = messageOf(error)
  report.failed++
  if (report.errors.length < ERRORS_SHOWN) report.errors.push({ line, code, message })
  watch.refused?.({ line, ...(id !== undefined && { _id: id }), code, message })
}

/** Writes lines with different ids. */
async function writeBatch(running: Import, batch: readonly Line[]): Promise<void> {
  if (batch.length === 0) return
  const { db, collection, report } = running
  const rows = await db.all(selectIdsSql(collection.name, batch.map(idOf)))
  const there = new Set(rows.map(({ id }) => id))
  const newDocuments: (PreparedDocument & { of: Line })[] = []
  for (const one of batch) {
    try {
      if (!there.has(idOf(one))) newDocuments.push({ ...(await prepare(running, one)), of: one })
      else await meet(running, one)
    } catch (error) {
      noteFault(running, one.line, idOf(one), error)
    }
  }
  if (newDocuments.length === 0 || (await insertTogether(running, newDocuments))) return
  // One of them cannot be written, and the others can.
  for (const one of newDocuments) {
    try {
      if (await insert(running, [one])) report.created++
      else await meet(running, one.of)
    } catch (error) {
      noteFault(running, one.of.line, idOf(one.of), error)
    }
  }
}

async function prepare({ context, collection }: Import, line: Line): Promise<PreparedDocument> {
  const { viewer, fields, service } = line
  const request = { collection, subject: await viewer.subjectFor(collection) }
  return prepareDocument(context, request, viewer, fields, { service, at: '' })
}

/** @returns false if each has to be written for itself */
async function insertTogether(
  running: Import,
  made: readonly (PreparedDocument & { of: Line })[],
): Promise<boolean> {
  try {
    if (!(await insert(running, made))) return false
    running.report.created += made.length
    return true
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return false
    throw error
  }
}

/** Inserts all or none; false if there is one with an id of theirs. */
async function insert(
  { context, collection, options }: Import,
  made: readonly (PreparedDocument & { of: Line })[],
): Promise<boolean> {
  const { viewer } = made[0]!.of
  const first = made.flatMap((one) => one.first)
  const events = made.map(({ document: { id, body } }) => ({ action: 'create' as const, id, after: body }))
  // Nothing of a dry run stays, so the collection keeps its order.
  const documents = made.map(({ document }) =>
    options.dryRun ? { ...document, breaksIdOrder: false } : document,
  )
  const last = options.dryRun
    ? { last: [requireRow(sql`select 1 as row where 1 = 0`, () => rolledBack)] }
    : {}
  try {
    return await context.quota.run(viewer.caller, documents.map(growthOf), (room) =>
      context.documents.insertAll(documents, () => '', {
        ...stepsAround(context, collection, viewer, [...room, ...first], events),
        ...last,
      }),
    )
  } catch (error) {
    if (error === rolledBack) return true
    throw error
  }
}

/** Ends the batch of a dry run, of which nothing stays. */
const rolledBack = errors.conflict({ message: 'This was a dry run.' })

/** What becomes of a line with the id of a document that is there. */
async function meet(running: Import, line: Line): Promise<void> {
  const { context, collection, options, report } = running
  if (options.conflict === 'skip') {
    report.skipped++
    return
  }
  if (options.conflict === 'fail')
    throw errors.conflict({ message: `There is a document with the _id ${idOf(line)} already.` })
  if (options.dryRun) await checkReplacement(running, line)
  else await changeDocument(context, collection, line.viewer, idOf(line), { apply: () => line.fields })
  report.replaced++
}

/** The checks of a replacement, without the write. */
async function checkReplacement({ context, collection }: Import, line: Line): Promise<void> {
  const { viewer, fields } = line
  const request: AccessRequest = { collection, subject: await viewer.subjectFor(collection) }
  const old = await context.documents.find(collection.name, idOf(line))
  if (!old) return
  const stored = { ...readDocument(old.body), owner: old.owner }
  checkResult(request, stored, { ...stored, fields }, '')
  await checkReferences(context, collection, viewer, { fields, before: stored.fields, at: '' })
}
