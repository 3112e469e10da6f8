import { Type } from '../../base/schema.ts'

import { defineWire } from '../../kernel/wire.ts'
import { CollectionName, CollectionRule, createCollections } from './collections.ts'
import { createDocuments } from './documents.ts'
import { createLists } from './list.ts'
import { documentRoutes } from './routes.ts'

const StoreOptions = Type.Object(
  {
    /** Access rules of collections, if they differ from the policy's. */
    collections: Type.Record(CollectionName, CollectionRule, { default: {}, additionalProperties: false }),
  },
  { additionalProperties: false },
)

/** JSON documents in collections. */
export const store = defineWire({
  name: 'store',
  description: 'JSON documents in collections, with filters, sorting and pages.',
  options: StoreOptions,
  migrations: new URL('./migrations/', import.meta.url),
  setup({ db, clock, policy }, options) {
    const collections = createCollections(policy, options.collections)
    const documents = createDocuments(db, clock)
    const list = createLists(db, documents)
    const health = () => db.ping()
    return {
      routes: documentRoutes({ collections, documents, list, health }),
      service: { documents, list },
      health,
    }
  },
})
