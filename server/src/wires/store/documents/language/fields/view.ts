import { invalid } from '../../../../../base/errors.ts'
import type { RowFilter } from '../../../../../base/row-filter.ts'
import type { DocumentRow } from '../document-json.ts'
import type { ElementTest, FilterTree, Json, Test } from '../query/filter.ts'
import { isScalar } from '../query/filter.ts'
import type { Path } from '../query/path.ts'
import type { Sort } from '../query/sort.ts'
import { leavingOut, project, type Projection } from './projection.ts'
import { isWithin, rowFilterOf, type Rule, type RuleCondition, type RuleSubject } from '../rules/rule.ts'
import { parseJson } from '../../../../../base/json.ts'
import { isInside, withoutIndexes } from './field-path.ts'

/** The fields of a collection that not everybody sees. */
export type FieldRules = {
  /** All of them. */
  readonly concealed: readonly Path[]
  /** Seen by administrators and service keys. */
  readonly hidden: readonly Path[]
  /** Seen by those for whom the rule holds for the document. */
  readonly showTo: readonly { readonly path: Path; readonly rule: Rule }[]
}

/** What somebody sees of the documents of a collection, if that is not all of them. */
export type FieldView = {
  /** What cannot be filtered, sorted or chosen, because not all documents show it. */
  readonly concealed: readonly Path[]
  readonly hidden: readonly Path[]
  readonly showTo: readonly { readonly path: Path; readonly rowFilter: RowFilter<RuleCondition> }[]
}

/** The view of somebody; undefined if it shows everything. */
export function viewOf(
  { concealed, hidden, showTo }: FieldRules,
  subject: RuleSubject,
): FieldView | undefined {
  if (subject.isPrivileged || concealed.length === 0) return undefined
  return {
    concealed,
    hidden,
    showTo: showTo.map(({ path, rule }) => ({ path, rowFilter: rowFilterOf(rule, subject) })),
  }
}

/** Tells a view from others of the same collection. */
export const nameOfView = (view: FieldView | undefined): string =>
  view === undefined ? '' : JSON.stringify([view.hidden, view.showTo])

/** The fields of a document that a view does not show. */
export function concealedIn({ hidden, showTo }: FieldView, document: Json, owner: string): readonly Path[] {
  if (showTo.length === 0) return hidden
  const others = showTo.filter(({ rowFilter }) => !isWithin(rowFilter, owner, () => document))
  return [...hidden, ...others.map(({ path }) => path)]
}

/**
 * The JSON of a document as a view shows it.
 *
 * @param now the document of which it is asked what is shown, if that is another version
 */
export function show(
  view: FieldView | undefined,
  document: Pick<DocumentRow, 'body' | 'owner'>,
  now = document,
): string {
  const { body } = document
  if (view === undefined) return body
  const paths = concealedIn(view, view.showTo.length > 0 ? (parseJson(now.body) as Json) : null, now.owner)
  return paths.length === 0 ? body : project(body, leavingOut(paths))
}

/** Marks the ETag of a document by what is shown of it: another view of the same version is another representation. */
export function markOf(
  view: FieldView | undefined,
  { body, owner }: Pick<DocumentRow, 'body' | 'owner'>,
): string {
  if (view === undefined) return ''
  const concealed = concealedIn(view, view.showTo.length > 0 ? (parseJson(body) as Json) : null, owner)
  return concealed.length === 0 ? '' : `-${concealed.map((path) => view.concealed.indexOf(path)).join('.')}`
}

/** @throws VALIDATION_ERROR at `/query/filter` if the filter tells anything of a field that is concealed */
export function checkFilter(view: FieldView | undefined, filter: FilterTree, at = '/query/filter'): void {
  if (view)
    for (const fault of faultsIn(filter, [], view.concealed)) throw refused(at, fault, 'used in a filter')
}

/** @throws VALIDATION_ERROR at `/query/sort` */
export const checkSort = (view: FieldView | undefined, { keys }: Sort): void =>
  checkValues(
    view,
    keys.map(({ path }) => path),
    '/query/sort',
    'used in a sort',
  )

/** @throws VALIDATION_ERROR if one of the values is, or holds, a field that is concealed */
export function checkValues(
  view: FieldView | undefined,
  paths: readonly Path[],
  at: string,
  use: string,
): void {
  if (view === undefined) return
  for (const path of paths) if (holdsConcealed(path, view.concealed)) throw refused(at, path, use)
}

/** Whether a value is, or holds, a field that is concealed: a whole object or array compares by all that is inside of it. */
function holdsConcealed(path: Path, concealed: readonly Path[]): boolean {
  const own = withoutIndexes(path)
  return concealed.some((one) => isInside(own, one) || isInside(one, own))
}

/** @throws VALIDATION_ERROR at `/query/fields` */
export function checkProjection(
  view: FieldView | undefined,
  projection: Projection | undefined,
  at = '/query/fields',
): void {
  if (view === undefined || projection === undefined) return
  for (const path of projection.paths)
    if (view.concealed.some((one) => isInside(withoutIndexes(path), one)))
      throw refused(at, path, 'named in fields')
}

const refused = (at: string, path: Path, use: string) =>
  invalid({
    path: at,
    message: `${path.join('.')} cannot be ${use}: it is, or holds, a field that only administrators and service keys may use here`,
  })

/** The paths by which a filter asks for a concealed field, or compares something that holds one. */
function* faultsIn(filter: FilterTree, outer: Path, concealed: readonly Path[]): Generator<Path> {
  if (filter.kind === 'not') yield* faultsIn(filter.of, outer, concealed)
  else if ('of' in filter) for (const one of filter.of) yield* faultsIn(one, outer, concealed)
  else if (filter.kind === 'expr') {
    for (const side of [filter, filter.to])
      if ('path' in side && holdsConcealed(side.path, concealed)) yield side.path
  } else {
    const whole = [...outer, ...filter.path]
    const path = withoutIndexes(whole)
    if (concealed.some((one) => isInside(path, one))) yield whole
    else if (concealed.some((one) => isInside(one, path))) yield* faultsOfTest(filter.test, whole, concealed)
  }
}

/** Likewise of what is asked of a value that holds a concealed field. */
function* faultsOfTest(test: Test, path: Path, concealed: readonly Path[]): Generator<Path> {
  if (test.kind === 'elementMatches') yield* faultsIn(test.of, path, concealed)
  else if (test.kind === 'element') yield* faultsOfElement(test.of, path, concealed)
  else if (test.kind === 'in' ? !test.values.every(isScalar) : test.kind === 'range' && !isScalar(test.bound))
    yield path
}

function* faultsOfElement(test: ElementTest, path: Path, concealed: readonly Path[]): Generator<Path> {
  if (test.kind === 'value') yield* faultsOfTest(test.test, path, concealed)
  else for (const one of [test.of].flat()) yield* faultsOfElement(one, path, concealed)
}
