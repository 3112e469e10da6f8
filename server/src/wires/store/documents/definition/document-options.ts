import type { Static } from 'typebox'

import { Type } from '../../../../base/schema.ts'
import { AutomaticIndexOptions, IndexOptions } from '../storage/entries/index-definition.ts'
import { CollectionOptions, UserValueOptions } from './collection-option.ts'

/** What the configuration says of documents. */
export const DOCUMENT_OPTIONS = {
  /** Rules and schemas of collections, and what else differs from free-form documents under the policy. */
  collections: CollectionOptions,
  /** Values of `$$user` that are read from documents, such as the teams of an account. */
  user: UserValueOptions,
  indexes: IndexOptions,
  automaticIndexes: AutomaticIndexOptions,
  queryLimitSeconds: Type.Integer({
    minimum: 1,
    maximum: 3600,
    default: 10,
    description: 'How long a query of a list may take before it is stopped.',
  }),
}

const DocumentOptions = Type.Object(DOCUMENT_OPTIONS)
export type DocumentOptions = Static<typeof DocumentOptions>
