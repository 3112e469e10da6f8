import { Type } from '../../../base/schema.ts'
import { CollectionRule } from './collections.ts'
import { UniqueOption } from './indexes/unique.ts'

const [words, actions] = CollectionRule.anyOf

/** What the configuration declares of a collection: a word, or who may do what, and the rules of its documents. */
export const CollectionOptions = Type.Union([
  words,
  Type.Object(
    { ...actions.properties, unique: Type.Optional(UniqueOption) },
    { additionalProperties: false },
  ),
])
