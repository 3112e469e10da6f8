import type { Static } from 'typebox'

import { Type } from '../../../../base/schema.ts'
import { CollectionName } from '../collections/name.ts'
import type { Path } from '../query/path.ts'

/** What the configuration says of a field that holds the `_id` of another document. */
export const RelationOption = Type.Object(
  {
    to: CollectionName,
    onDelete: Type.Optional(
      Type.Enum(['restrict', 'unset', 'cascade'], {
        description:
          'What happens to the document if the other one is deleted: nothing, because that is refused (restrict, the default), its field is removed, or it is deleted as well.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type RelationOption = Static<typeof RelationOption>

/** A field that holds the `_id` of documents of a collection. */
export type Relation = {
  readonly path: Path
  readonly to: string
  readonly onDelete: 'restrict' | 'unset' | 'cascade'
}
