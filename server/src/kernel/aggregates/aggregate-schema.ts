import type { TSchema } from 'typebox'

import { Type } from '../../base/schema.ts'
import type { Accumulator } from './aggregate-request.ts'

const GROUPS = { default: 100, most: 1000 }

/** What the fields of the records are called in a query, with an example of each parameter. */
type QueryWords = { readonly records: string; readonly fields: string; readonly by: string }

/** The parameter that names the fields of an accumulator. */
export const fieldsParameter = (description: string, example: string) =>
  Type.Optional(Type.String({ description, examples: [example] }))

/** The parameters of a route that aggregates, beside its accumulators and filters. */
export const aggregateQuery = ({ records, fields, by }: QueryWords) => ({
  by: Type.Optional(
    Type.String({
      description: `Up to three fields, joined by commas, whose values make the groups; ${fields}. Times are grouped by hour, day, week or month with a colon: createdAt:day. Default: one group of all ${records}.`,
      examples: [by],
    }),
  ),
  timeZone: Type.Optional(
    Type.String({
      maxLength: 64,
      description:
        'The IANA name of the time zone in which hours, days, weeks and months begin. Default: UTC.',
      examples: ['Europe/Berlin'],
    }),
  ),
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
})

/**
 * What such a route answers.
 *
 * @param title of one group; that of the answer is its plural
 */
export const aggregateReply = <
  By extends TSchema,
  Computed extends { readonly [K in Accumulator]?: TSchema },
>(
  { title, records }: { title: string; records: string },
  { by, computed, examples }: { by: By; computed: Computed; examples: readonly object[] },
) =>
  Type.Object(
    {
      data: Type.Array(
        Type.Object(
          { by, count: Type.Integer({ description: `How many ${records} the group has.` }), ...computed },
          { title },
        ),
      ),
      more: Type.Boolean({ description: 'Whether there are more groups than the limit.' }),
    },
    { title: `${title}s`, examples: [{ data: examples, more: false }] },
  )
