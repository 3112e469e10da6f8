import type { Static } from 'typebox'

import { isoTime } from '../../../../../base/clock.ts'
import { Type } from '../../../../../base/schema.ts'
import { namesOf } from '../entries/entries.ts'
import { fieldsOf, type IndexRow } from '../sql/index-rows.ts'

/** An index as operators see it. */
export const DocumentIndex = Type.Object(
  {
    fields: Type.String({ examples: ['year,-title'] }),
    unique: Type.Boolean(),
    sparse: Type.Optional(
      Type.Boolean({
        description:
          'Whether documents that lack one of the fields are not in it. Then it answers only filters that ask for values of all fields.',
      }),
    ),
    ignoreCase: Type.Optional(
      Type.Boolean({ description: 'Whether it ignores the case of texts. Then it answers no lists.' }),
    ),
    search: Type.Optional(Type.Boolean({ description: 'Whether it has the words that searches look for.' })),
    source: Type.Enum(['declared', 'automatic']),
    state: Type.Enum(['building', 'ready', 'failed']),
    reason: Type.Optional(Type.String({ description: 'Why it has failed.' })),
    documents: Type.Optional(
      Type.Integer({ description: 'How many documents the build has inserted so far.' }),
    ),
    lastUsedAt: Type.Optional(
      Type.String({ format: 'date-time', description: 'When a list last used it, up to an hour behind.' }),
    ),
  },
  { title: 'DocumentIndex' },
)
type DocumentIndex = Static<typeof DocumentIndex>

export const shownIndex = (row: IndexRow): DocumentIndex => ({
  fields: namesOf(fieldsOf(row)),
  unique: row.is_unique === 1,
  ...(row.is_sparse === 1 && { sparse: true }),
  ...(row.ignore_case === 1 && { ignoreCase: true }),
  ...(row.is_search === 1 && { search: true }),
  source: row.source,
  state: row.state as 'building' | 'ready' | 'failed',
  ...(row.reason !== null && { reason: row.reason }),
  ...(row.state === 'building' && { documents: row.documents }),
  ...(row.last_used_at !== null && { lastUsedAt: isoTime(row.last_used_at) }),
})
