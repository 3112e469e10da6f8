import { isoTime } from '../../../../base/clock.ts'
import { ApiError, errors } from '../../../../base/errors.ts'
import type { Step } from '../../../../db/database.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import { readDocument, writeDocument, type Fields } from '../language/document-json.ts'
import type { Collections } from '../definition/collections.ts'
import { replacementsOf } from '../storage/documents.ts'
import type { WriteContext } from '../writes/write-context.ts'
import {
  forgetKeptSql,
  keepSql,
  selectChangedPageSql,
  selectPageSql,
  visitedSql,
  type ChangeRow,
  type DocumentToVisit,
} from './change-rows.ts'
import { moveSteps, movesOf, type MovedField } from './moved-references.ts'
import { changeFields, undoFields, type FieldMigration, type KeptFields } from './field-changes.ts'
import type { DocumentCheck } from '../language/schema/compile-schema.ts'

const PAGE = 250
/** After a transaction with writes it rests for so many times as long as that took, so that other writers get on. */
const REST = 0.5
const LONGEST_REST_MS = 50

/** A document cannot be changed. */
export class UnchangeableDocument extends Error {}

/** The change has another state by now: it is being undone, or another process works on it. */
const MOVED = errors.conflict({ message: 'The change of the documents goes on elsewhere.' })
export const hasMoved = (error: unknown): boolean => error === MOVED

export type ChangeContext = Pick<WireContext, 'clock'> & {
  /** Refuses writes during a restore. */
  readonly db: WireContext['db']
  readonly writing: Pick<WriteContext, 'documents' | 'quota'>
  readonly collections: Collections
}

/** With the time at which the document was created: one that somebody has made anew with its id gets nothing of it. */
type KeptOfDocument = { readonly createdAt: string; readonly fields: KeptFields }

/** A document and what is to become of it. */
type Visit = DocumentToVisit & {
  readonly body: string
  readonly next: string
  readonly nextFields: Fields
  readonly keeps: KeptOfDocument
}

type Pass = {
  readonly context: ChangeContext
  readonly change: ChangeRow
  readonly moves: readonly MovedField[]
  /** Reads the next documents: so many of them, behind the last one. */
  readonly page: (limit: number) => Promise<readonly DocumentToVisit[]>
  /** What becomes of the fields; undefined: they stay. @throws UnchangeableDocument */
  readonly visit: (
    document: { readonly id: string; readonly fields: Fields },
    kept: KeptFields,
  ) => { fields: Fields; kept: KeptFields } | undefined
  /** Steps behind the writes. */
  readonly last: (page: readonly DocumentToVisit[], changed: readonly Visit[]) => readonly Step[]
  /** Goes on behind a document that cannot be changed; undefined: that ends the pass. */
  readonly skip?: ((error: UnchangeableDocument) => void) | undefined
  readonly stopping: AbortSignal
}

/**
 * Changes documents of a collection in small transactions. A document that is changed already stays as it is.
 *
 * @param options.check what is wrong with the fields of a changed document
 * @param options.from the id behind which it begins
 * @param options.isCounted whether it notes how far it is
 * @param options.skip called for each document that cannot be changed; it stays as it is
 * @throws UnchangeableDocument without `skip`; `MOVED` if the change is not in its state any more
 */
export async function changeAll(
  context: ChangeContext,
  change: ChangeRow,
  changes: readonly FieldMigration[],
  {
    check,
    from,
    isCounted,
    skip,
    stopping,
  }: {
    check: DocumentCheck | undefined
    from: string
    isCounted: boolean
    skip?: Pass['skip']
    stopping: AbortSignal
  },
): Promise<void> {
  let after = from
  await runPass(
    {
      context,
      change,
      moves: movesOf(changes),
      skip,
      stopping,
      page: (limit) => context.db.all(selectPageSql(change.collection, after, limit)),
      visit({ id, fields }, old) {
        const changed = changeFields(fields, changes, old)
        const [issue] = check?.(changed.fields, '') ?? []
        if (issue) throw new UnchangeableDocument(`${id}: ${issue.path} ${issue.message}`)
        return changed.fields === fields ? undefined : changed
      },
      last(page, changed) {
        const position = page.at(-1)!.id
        const kept = changed.map(({ id, owner, keeps }) => ({ id, owner, kept: JSON.stringify(keeps) }))
        return [
          ...(kept.length > 0 ? [keepSql(change.collection, kept)] : []),
          visitedSql(
            change,
            change.state,
            isCounted ? { position, done: page.length } : { position: change.position, done: 0 },
            () => MOVED,
          ),
        ]
      },
    },
    (page) => (after = page.at(-1)!.id),
  )
}

/** Takes back what was changed, likewise. */
export async function undoAll(
  context: ChangeContext,
  change: ChangeRow,
  changes: readonly FieldMigration[],
  stopping: AbortSignal,
): Promise<void> {
  await runPass({
    context,
    change,
    moves: movesOf(changes).map(({ from, to }) => ({ from: to, to: from })),
    stopping,
    page: (limit) => context.db.all(selectChangedPageSql(change.collection, limit)),
    visit({ fields }, kept) {
      const undone = undoFields(fields, changes, kept)
      return undone === fields ? undefined : { fields: undone, kept: {} }
    },
    last: (page) => [
      forgetKeptSql(
        change.collection,
        page.map(({ id }) => id),
      ),
      visitedSql(change, 'undoing', { position: '', done: page.length }, () => MOVED),
    ],
  })
}

async function runPass(
  pass: Pass,
  passed: (page: readonly DocumentToVisit[]) => void = () => undefined,
): Promise<void> {
  const { clock } = pass.context
  for (let limit = PAGE; ;) {
    pass.stopping.throwIfAborted()
    const began = clock.elapsed()
    const page = untilLarge(await pass.page(limit))
    if (page.length === 0) return
    const outcome = await writePage(pass, page)
    if (outcome === 'again') {
      // Somebody writes one of them, or one cannot be changed: those before it are.
      limit = Math.max(1, Math.floor(page.length / 2))
      continue
    }
    passed(page)
    limit = Math.min(PAGE, 2 * limit)
    if (outcome === 'written')
      await clock.sleep(Math.min((clock.elapsed() - began) * REST, LONGEST_REST_MS), {
        signal: pass.stopping,
      })
  }
}

function untilLarge(rows: readonly DocumentToVisit[]): readonly DocumentToVisit[] {
  const large = rows.findIndex((row) => row.body === null && !isGone(row))
  return large === -1 ? rows : rows.slice(0, large)
}

/** No document has the version 0. */
const isGone = ({ version }: DocumentToVisit): boolean => version === 0

/** @returns `again` if nothing was written, and fewer may be @throws UnchangeableDocument */
async function writePage(
  pass: Pass,
  page: readonly DocumentToVisit[],
): Promise<'written' | 'read' | 'again'> {
  const { context, change, moves } = pass
  const { documents, quota } = context.writing
  let last: string | undefined
  try {
    const changed: Visit[] = []
    for (const document of page) {
      last = document.id
      const visit = isGone(document) ? undefined : visited(pass, document)
      if (visit) changed.push(visit)
    }
    const steps = pass.last(page, changed)
    if (changed.length === 0) {
      await context.db.batch([steps])
      return 'read'
    }
    const growth = changed.map(({ owner, body, next }) => ({
      owner,
      bytes: Buffer.byteLength(next) - Buffer.byteLength(body),
    }))
    const moved = moveSteps(
      context.collections.get(change.collection),
      moves,
      changed.map(({ nextFields }) => nextFields),
    )
    const rows = await quota.run(undefined, growth, (room) =>
      documents.writeAll(
        replacementsOf(
          context.db.dialect,
          change.collection,
          changed.map(({ id, owner, version, body, next }) => ({
            collection: change.collection,
            id,
            old: { owner, version, body },
            body: next,
          })),
        ),
        { first: [...room, ...moved], last: steps },
      ),
    )
    return rows ? 'written' : 'again'
  } catch (error) {
    const isOfDocument =
      error instanceof UnchangeableDocument ||
      (error instanceof ApiError && error.status < 500 && !hasMoved(error))
    if (!isOfDocument) throw error
    if (page.length > 1) return 'again'
    const unchangeable =
      error instanceof UnchangeableDocument ? error : new UnchangeableDocument(`${last}: ${error.message}`)
    if (!pass.skip) throw unchangeable
    pass.skip(unchangeable)
    return 'read'
  }
}

function visited({ context, visit }: Pass, document: DocumentToVisit): Visit | undefined {
  const { id, kept } = document
  const body = document.body!
  const { service, fields } = readDocument(body)
  const old = kept === null ? undefined : (JSON.parse(kept) as KeptOfDocument)
  const changed = visit({ id, fields }, old?.createdAt === service.createdAt ? old.fields : {})
  if (!changed) return undefined
  const next = writeDocument({ ...service, updatedAt: isoTime(context.clock.now()) }, changed.fields)
  return {
    ...document,
    body,
    next,
    nextFields: changed.fields,
    keeps: { createdAt: service.createdAt, fields: changed.kept },
  }
}
