import { invalid, type ApiError } from '../../base/errors.ts'
import { SLOTS, type Slot } from '../../base/time-slots.ts'
import { zoneOffsets, type ZoneOffsets } from '../../base/zone-offsets.ts'

/** What is computed of the values of a field. */
export const ACCUMULATORS = ['sum', 'average', 'min', 'max', 'distinct'] as const
export type Accumulator = (typeof ACCUMULATORS)[number]

/** A field as a request names it. */
export type NamedField = { readonly name: string }

/** A field that records are grouped by, or the slots of its times. */
export type Grouping<F extends NamedField> = { readonly field: F; readonly slot: Slot | undefined }

export type AggregateSort = 'by' | '-by' | 'count' | '-count'

/** The query parameters that say what is answered of the records. */
export type AggregateParameters = { readonly [K in Accumulator | 'by' | 'timeZone']?: string } & {
  readonly limit: number
  readonly sort: AggregateSort
}

/** The same, parsed. */
export type AggregateRequest<F extends NamedField> = {
  readonly by: readonly Grouping<F>[]
  readonly fields: Readonly<Record<Accumulator, readonly F[]>>
  readonly zone: ZoneOffsets
  readonly limit: number
  readonly sort: AggregateSort
}

/** Where a request names a field. */
export type FieldUse = { readonly parameter: Accumulator | 'by'; readonly slot?: Slot | undefined }

const LENGTH_MAX = 2048
const NAME_MAX = 60
const GROUPINGS_MAX = 3
const FIELDS_MAX = 10
const SLOT_LIST = SLOTS.join(', ')

export const refusedParameter = (name: string, message: string): ApiError =>
  invalid({ path: `/query/${name}`, message })

/**
 * @param fieldOf reads the name of a field, which is not empty and has no colon
 * @throws VALIDATION_ERROR at `/query/…`
 */
export function parseAggregate<F extends NamedField>(
  { by, timeZone = 'UTC', limit, sort, ...accumulators }: AggregateParameters,
  fieldOf: (name: string, use: FieldUse) => F,
): AggregateRequest<F> {
  const groupings = by === undefined ? [] : partsOf('by', by).map((part) => parseGrouping(part, fieldOf))
  if (groupings.length > GROUPINGS_MAX) throw refusedParameter('by', `Give at most ${GROUPINGS_MAX} fields.`)
  checkRepeats(
    'by',
    groupings.map(({ field }) => field),
  )
  const fields = Object.fromEntries(
    ACCUMULATORS.map((one) => [one, fieldsOf(one, accumulators[one], fieldOf)]),
  ) as unknown as AggregateRequest<F>['fields']
  const named = ACCUMULATORS.filter((one) => fields[one].length > 0)
  const count = named.reduce((sum, one) => sum + fields[one].length, 0)
  if (count > FIELDS_MAX)
    throw refusedParameter(
      named.at(-1)!,
      `${ACCUMULATORS.join(', ')} take at most ${FIELDS_MAX} fields together.`,
    )
  return { by: groupings, fields, zone: zoneOffsets(timeZone), limit, sort }
}

function fieldsOf<F extends NamedField>(
  parameter: Accumulator,
  text: string | undefined,
  fieldOf: (name: string, use: FieldUse) => F,
): F[] {
  if (text === undefined) return []
  const fields = partsOf(parameter, text).map((name) => fieldOf(checkedName(name, parameter), { parameter }))
  checkRepeats(parameter, fields)
  return fields
}

function partsOf(parameter: string, text: string): string[] {
  if (text.length > LENGTH_MAX) throw refusedParameter(parameter, `Give at most ${LENGTH_MAX} characters.`)
  return text.split(',').map((part) => part.trim())
}

function parseGrouping<F extends NamedField>(
  text: string,
  fieldOf: (name: string, use: FieldUse) => F,
): Grouping<F> {
  const colon = text.lastIndexOf(':')
  const name = colon === -1 ? text : text.slice(0, colon)
  const slot = SLOTS.find((one) => one === text.slice(colon + 1))
  if (colon !== -1 && slot === undefined)
    throw refusedParameter(
      'by',
      `${quote(text)} does not end in a slot: give ${SLOT_LIST}, as in createdAt:day.`,
    )
  return { field: fieldOf(checkedName(name, 'by'), { parameter: 'by', slot }), slot }
}

function checkedName(name: string, parameter: string): string {
  if (name === '') throw refusedParameter(parameter, 'Name at least one field, or leave the parameter out.')
  if (name.includes(':'))
    throw refusedParameter(
      parameter,
      `${quote(name)} has a colon: only the last part of a field in by may be a slot.`,
    )
  return name
}

function checkRepeats(parameter: string, fields: readonly NamedField[]): void {
  const names = fields.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) < i)
  if (twice !== undefined)
    throw refusedParameter(parameter, `The field ${quote(twice)} is there more than once.`)
}

/** A name of a request in a message. */
export const quote = (name: string): string =>
  JSON.stringify(name.length > NAME_MAX ? `${name.slice(0, NAME_MAX)}…` : name)
