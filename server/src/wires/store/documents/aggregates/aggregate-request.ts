import { invalid, type ApiError } from '../../../../base/errors.ts'
import { checkValues, type FieldView } from '../language/fields/view.ts'
import { emptyPart, parsePath, quote, type Path } from '../language/query/path.ts'
import { SLOTS, type Slot } from '../../../../base/time-slots.ts'
import { zoneOffsets, type ZoneOffsets } from '../../../../base/zone-offsets.ts'

/** What is computed of the values of a field. */
export const ACCUMULATORS = ['sum', 'average', 'min', 'max', 'distinct'] as const
export type Accumulator = (typeof ACCUMULATORS)[number]

/** A field as a request names it. */
export type NamedPath = { readonly name: string; readonly path: Path }

/** A field that documents are grouped by, or the slots of its times. */
export type Grouping = NamedPath & { readonly slot: Slot | undefined }

export type AggregateSort = 'by' | '-by' | 'count' | '-count'

/** The query parameters that say what is answered of the documents. */
export type AggregateParameters = { readonly [K in Accumulator | 'by' | 'timeZone']?: string } & {
  readonly limit: number
  readonly sort: AggregateSort
}

/** The same, parsed. */
export type AggregateRequest = {
  readonly by: readonly Grouping[]
  readonly fields: Readonly<Record<Accumulator, readonly NamedPath[]>>
  readonly zone: ZoneOffsets
  readonly limit: number
  readonly sort: AggregateSort
}

const LENGTH_MAX = 2048
const GROUPINGS_MAX = 3
const FIELDS_MAX = 10
const SLOT_LIST = SLOTS.join(', ')

const refused = (name: string, message: string): ApiError => invalid({ path: `/query/${name}`, message })

/**
 * @param view what the caller sees of the documents; undefined for all of it
 * @throws VALIDATION_ERROR at `/query/…`
 */
export function parseAggregate(
  { by, timeZone = 'UTC', limit, sort, ...accumulators }: AggregateParameters,
  view: FieldView | undefined,
): AggregateRequest {
  const groupings = by === undefined ? [] : partsOf('by', by).map(parseGrouping)
  if (groupings.length > GROUPINGS_MAX) throw refused('by', `Give at most ${GROUPINGS_MAX} fields.`)
  checkFields('by', groupings, view)
  const fields = Object.fromEntries(
    ACCUMULATORS.map((one) => [one, fieldsOf(one, accumulators[one], view)]),
  ) as unknown as AggregateRequest['fields']
  const named = ACCUMULATORS.filter((one) => fields[one].length > 0)
  const count = named.reduce((sum, one) => sum + fields[one].length, 0)
  if (count > FIELDS_MAX)
    throw refused(named.at(-1)!, `${ACCUMULATORS.join(', ')} take at most ${FIELDS_MAX} fields together.`)
  return { by: groupings, fields, zone: zoneOffsets(timeZone), limit, sort }
}

function fieldsOf(
  accumulator: Accumulator,
  text: string | undefined,
  view: FieldView | undefined,
): NamedPath[] {
  if (text === undefined) return []
  const fields = partsOf(accumulator, text).map((name) => ({ name, path: pathOf(accumulator, name) }))
  checkFields(accumulator, fields, view)
  return fields
}

function partsOf(parameter: string, text: string): string[] {
  if (text.length > LENGTH_MAX) throw refused(parameter, `Give at most ${LENGTH_MAX} characters.`)
  return text.split(',').map((part) => part.trim())
}

function parseGrouping(text: string): Grouping {
  const colon = text.lastIndexOf(':')
  const name = colon === -1 ? text : text.slice(0, colon)
  const slot = SLOTS.find((one) => one === text.slice(colon + 1))
  if (colon !== -1 && slot === undefined)
    throw refused('by', `${quote(text)} does not end in a slot: give ${SLOT_LIST}, as in createdAt:day.`)
  return { name, path: pathOf('by', name), slot }
}

function pathOf(parameter: string, name: string): Path {
  if (name === '') throw refused(parameter, 'Name at least one field, or leave the parameter out.')
  if (name.includes(':'))
    throw refused(parameter, `${quote(name)} has a colon: only the last part of a field in by may be a slot.`)
  const path = parsePath(name, `/query/${parameter}`)
  if (path.includes('')) throw refused(parameter, emptyPart(name))
  return path
}

/** Refuses fields that are there twice, and those that the caller does not see in all documents. */
function checkFields(parameter: string, fields: readonly NamedPath[], view: FieldView | undefined): void {
  const names = fields.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) < i)
  if (twice !== undefined) throw refused(parameter, `The field ${quote(twice)} is there more than once.`)
  const paths = fields.map(({ path }) => path)
  checkValues(view, paths, `/query/${parameter}`, `used in ${parameter}`)
}
