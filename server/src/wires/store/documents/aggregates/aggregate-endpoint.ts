import { Type } from '../../../../base/schema.ts'
import { countedFor } from '../../../../http/limits.ts'
import { endpoint } from '../../../../http/route.ts'
import type { Collections } from '../definition/collections.ts'
import { readAccess } from '../routes/read-access.ts'
import { InCollection, Page } from '../routes/request-schemas.ts'
import type { createAggregates } from './aggregate.ts'
import { parseAggregate } from './aggregate-request.ts'

const GROUPS = { default: 100, most: 1000 }

const fieldsParameter = (description: string, example: string) =>
  Type.Optional(
    Type.String({
      description: `${description} Fields joined by commas; dotted paths are allowed.`,
      examples: [example],
    }),
  )

const AggregateQuery = Type.Object(
  {
    by: Type.Optional(
      Type.String({
        description:
          'Up to three fields, joined by commas, whose values make the groups; dotted paths are allowed. Times are grouped by hour, day, week or month with a colon: createdAt:day. Default: one group of all documents.',
        examples: ['status,createdAt:month'],
      }),
    ),
    sum: fieldsParameter('Adds up numbers, and ignores all other values.', 'price'),
    average: fieldsParameter('The average of numbers; null if there are none.', 'price'),
    min: fieldsParameter(
      'The smallest value, in the order in which lists sort; null if there is none.',
      'price',
    ),
    max: fieldsParameter('The largest value, likewise.', 'price'),
    distinct: fieldsParameter('The number of different values, without null.', 'customer'),
    timeZone: Type.Optional(
      Type.String({
        maxLength: 64,
        description:
          'The IANA name of the time zone in which hours, days, weeks and months begin. Default: UTC.',
        examples: ['Europe/Berlin'],
      }),
    ),
    filter: Page.filter,
    search: Page.search,
    sort: Type.Enum(['by', '-by', 'count', '-count'], {
      default: 'by',
      description:
        'The order of the groups: by their values, or by their count; a leading minus sorts in descending order.',
    }),
    limit: Type.Integer({
      minimum: 1,
      maximum: GROUPS.most,
      default: GROUPS.default,
      description: 'How many groups are answered at most.',
    }),
  },
  { additionalProperties: false },
)

const Values = (description: string) =>
  Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description }))
const Numbers = (description: string) =>
  Type.Optional(Type.Record(Type.String(), Type.Number(), { description }))

const Aggregates = Type.Object(
  {
    data: Type.Array(
      Type.Object(
        {
          by: Type.Record(Type.String(), Type.Unknown(), {
            description:
              'The values of the group, by field. A missing value is null. A time is the beginning of its hour, day, week or month.',
          }),
          count: Type.Integer({ description: 'How many documents the group has.' }),
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
        { title: 'DocumentGroup' },
      ),
    ),
    more: Type.Boolean({ description: 'Whether there are more groups than the limit.' }),
  },
  {
    title: 'DocumentGroups',
    examples: [
      {
        data: [
          {
            by: { status: 'paid', createdAt: '2026-05-01T00:00:00+02:00' },
            count: 12,
            sum: { price: 120.5 },
            average: { price: 10.041666666666666 },
          },
        ],
        more: false,
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
        request: parseAggregate(parameters, view),
        options: { caller: countedFor({ caller, ip }), signal },
        makeRoom,
      })
    },
  )
}
