import { Type } from '../../../../base/schema.ts'
import { countedFor } from '../../../../http/limits.ts'
import { endpoint } from '../../../../http/route.ts'
import { parseAggregate } from '../../../../kernel/aggregates/aggregate-request.ts'
import {
  aggregateQuery,
  aggregateReply,
  fieldsParameter,
} from '../../../../kernel/aggregates/aggregate-schema.ts'
import type { Collections } from '../definition/collections.ts'
import { readAccess } from '../routes/read-access.ts'
import { InCollection, Page } from '../routes/request-schemas.ts'
import { documentField, type createAggregates } from './aggregate.ts'

const numbers = (description: string, example: string) =>
  fieldsParameter(`${description} Fields joined by commas; dotted paths are allowed.`, example)

const AggregateQuery = Type.Object(
  {
    ...aggregateQuery({
      records: 'documents',
      fields: 'dotted paths are allowed',
      by: 'status,createdAt:month',
    }),
    sum: numbers('Adds up numbers, and ignores all other values.', 'price'),
    average: numbers('The average of numbers; null if there are none.', 'price'),
    min: numbers('The smallest value, in the order in which lists sort; null if there is none.', 'price'),
    max: numbers('The largest value, likewise.', 'price'),
    distinct: numbers('The number of different values, without null.', 'customer'),
    filter: Page.filter,
    search: Page.search,
  },
  { additionalProperties: false },
)

const Values = (description: string) =>
  Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description }))
const Numbers = (description: string) =>
  Type.Optional(Type.Record(Type.String(), Type.Number(), { description }))

const Aggregates = aggregateReply(
  { title: 'DocumentGroup', records: 'documents' },
  {
    by: Type.Record(Type.String(), Type.Unknown(), {
      description:
        'The values of the group, by field. A missing value is null. A time is the beginning of its hour, day, week or month.',
    }),
    computed: {
      sum: Numbers('By field.'),
      average: Type.Optional(
        Type.Record(Type.String(), Type.Union([Type.Number(), Type.Null()]), {
          description: 'By field; null if there is no number.',
        }),
      ),
      min: Values('By field; null if there is no value.'),
      max: Values('By field; null if there is no value.'),
      distinct: Numbers('By field.'),
    },
    examples: [
      {
        by: { status: 'paid', createdAt: '2026-05-01T00:00:00+02:00' },
        count: 12,
        sum: { price: 120.5 },
        average: { price: 10.041666666666666 },
      },
    ],
  },
)

export function aggregateEndpoint({
  collections,
  aggregate,
  listLimitMs,
}: {
  collections: Collections
  /** How long it may take, its waiting included. */
  listLimitMs: number
} & ReturnType<typeof createAggregates>) {
  return endpoint(
    {
      summary: 'Aggregate documents',
      description:
        'Groups the documents that the filter finds, counts each group, and computes sums, averages, smallest and largest values. A query that takes too long is stopped, and answered 503.',
      access: 'optional',
      readsOnly: true,
      params: InCollection,
      query: AggregateQuery,
      timeLimitMs: listLimitMs,
      reply: { 200: Aggregates },
    },
    async ({ params: { collection: name }, query, caller, ip, signal, makeRoom }) => {
      const { rowFilter, view } = await readAccess(collections, name, caller)
      const { filter, search, ...parameters } = query
      return aggregate({
        collection: name,
        access: { rowFilter, view },
        documents: { ...(filter !== undefined && { filter }), ...(search !== undefined && { search }) },
        request: parseAggregate(parameters, documentField(view)),
        options: { caller: countedFor({ caller, ip }), signal },
        makeRoom,
      })
    },
  )
}
