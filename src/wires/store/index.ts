import { defineWire } from '../../kernel/wire.ts'
import { createCollections } from './documents/collections.ts'
import { createDocuments } from './documents/documents.ts'
import { createLists } from './documents/list.ts'
import { documentRoutes } from './documents/routes.ts'
import { STORE_ENV, STORE_PROVIDERS, StoreOptions } from './options.ts'

/** JSON documents in collections, files, and backups of both. */
export const store = defineWire({
  name: 'store',
  description: 'JSON documents in collections, with filters, sorting and pages; files; and backups.',
  options: StoreOptions,
  env: STORE_ENV,
  providers: STORE_PROVIDERS,
  migrations: new URL('./migrations/', import.meta.url),
  setup({ db, clock, policy }, options) {
    const collections = createCollections(policy, options.collections)
    const documents = createDocuments(db, clock)
    const list = createLists(db, documents)
    const health = () => db.ping()
    return {
      routes: documentRoutes({ collections, documents, list }),
      service: { documents, list },
      health,
    }
  },
})
