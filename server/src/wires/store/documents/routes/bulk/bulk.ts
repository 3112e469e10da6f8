import { ApiError, errors } from '../../../../../base/errors.ts'
import { allRows, ownRows } from '../../../../../base/row-filter.ts'
import type { Database } from '../../../../../db/database.ts'
import type { Actor } from '../../../../../http/actor.ts'
import type { Audit } from '../../../../../kernel/audit/audit.ts'
import type { CollectionDefinition } from '../../definition/collection.ts'
import type { Viewer } from '../../definition/viewer.ts'
import type { createLists, ListedDocument } from '../../lists/list.ts'
import { changeDocument } from '../../writes/change-document.ts'
import { removeDocument } from '../../writes/remove-document.ts'
import type { WriteContext } from '../../writes/write-context.ts'
import { readBulk, type BulkAction, type BulkBody, type BulkReport } from './bulk-request.ts'

/** How long one call changes documents; the next one goes on. */
const TIME_MS = 10_000
/** Documents of one call: their ids are in memory. */
const CALL_MAX = 10_000
/** Documents that are written at once; engines commit some of them together. */
const AT_ONCE = 16
const ERRORS_SHOWN = 20

/** For whom the documents are read, and what ends the work. */
type ReadOptions = { readonly caller: string; readonly signal: AbortSignal }

export type BulkContext = {
  /** Refuses writes during a restore. */
  readonly db: Database
  readonly audit: Audit
  readonly writing: WriteContext
  readonly list: ReturnType<typeof createLists>['list']
}

/**
 * Changes or deletes the documents that a filter finds, each as a single write does: rules, schema, unique fields, relations
 * and hooks hold, and one that is refused stays. The documents are counted and chosen in one statement; one that has
 * changed since is left as it is.
 *
 * @throws CONFLICT with the number of documents if it is not `expected`; VALIDATION_ERROR, UNAVAILABLE as lists
 */
export async function changeMany(
  context: BulkContext,
  collection: CollectionDefinition,
  viewer: Viewer,
  body: BulkBody,
  actor: Actor,
  options?: ReadOptions,
): Promise<BulkReport> {
  const { filter, action } = readBulk(body)
  const { name } = collection
  const page = await context.list({
    collection: name,
    access: { rowFilter: body.owner === undefined ? allRows : ownRows(body.owner), view: undefined },
    parameters: { filter, sort: '_id', limit: body.dryRun ? 1 : CALL_MAX, offset: 0 },
    reads: 'versions',
    ...(options && { options }),
  })
  const matched = page.total
  const report = { matched, changed: 0, skipped: 0, failed: 0, remaining: matched, errors: [] }
  if (body.dryRun) return report
  if (matched !== body.expected) throw otherNumber(name, matched)
  // First, so that nothing is changed without an entry.
  await context.db.batch([
    context.audit.entrySql(actor, {
      action: action === 'delete' ? 'documents.deleted' : 'documents.changed',
      target: `collection:${name}`,
      after: {
        documents: matched,
        ...(body.owner !== undefined && { owner: body.owner }),
        ...(body.filter ? { filter: body.filter } : { ids: body.ids!.slice(0, ERRORS_SHOWN) }),
        ...(body.set && { set: Object.keys(body.set) }),
        ...(body.unset && { unset: body.unset }),
      },
    }),
  ])
  return runAll(report, page.documents, (one) => runOne(context, collection, viewer, one, action), options)
}

/** Writes documents in parts until all are done, the time is over, or the client is gone. */
async function runAll(
  report: BulkReport,
  documents: readonly ListedDocument[],
  run: (document: ListedDocument) => Promise<void>,
  options: ReadOptions | undefined,
): Promise<BulkReport> {
  const began = performance.now()
  let done = 0
  while (done < documents.length && performance.now() - began < TIME_MS && !options?.signal?.aborted) {
    const part = documents.slice(done, done + AT_ONCE)
    const outcomes = await Promise.allSettled(part.map(run))
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') report.changed++
      else noteFault(report, part[i]!.id, outcome.reason)
    }
    done += part.length
  }
  report.remaining = report.matched - done
  if (report.remaining > 0) report.nextCursor = documents[done - 1]!.id
  return report
}

/** What another caller has changed or deleted is skipped. */
function noteFault(report: BulkReport, id: string, error: unknown): void {
  if (!(error instanceof ApiError)) throw error
  if (error.code === 'PRECONDITION_FAILED' || error.code === 'NOT_FOUND') {
    report.skipped++
    return
  }
  report.failed++
  if (report.errors.length < ERRORS_SHOWN)
    report.errors.push({ _id: id, code: error.code, message: messageOf(error) })
}

/** The sentence of an error, or what is wrong with the first field. */
export function messageOf({ message, details }: ApiError): string {
  const [issue] = (details?.['issues'] ?? []) as { path: string; message: string }[]
  return issue ? `${issue.path.replace(/^\/body/, '') || 'The document'}: ${issue.message}` : message
}

async function runOne(
  { writing }: BulkContext,
  collection: CollectionDefinition,
  viewer: Viewer,
  { id, version }: ListedDocument,
  action: BulkAction,
): Promise<void> {
  const expected = [version!]
  if (action === 'delete') await removeDocument(writing, collection, viewer, id, expected)
  else await changeDocument(writing, collection, viewer, id, { apply: action, expected })
}

const otherNumber = (collection: string, documents: number): ApiError =>
  errors.conflict({
    message: `${documents} documents of ${collection} match: send this number as expected to change all of them.`,
    details: { documents },
  })
