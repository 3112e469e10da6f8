import { randomUUID } from 'node:crypto'

import { defineScenario } from '../bench.ts'
import { compare } from '../compare.ts'
import { documentBody, indexesReady, seed } from '../documents.ts'
import { loadSide, type LoadRequest } from '../load.ts'
import { askFor } from '../servers.ts'

const CONNECTIONS = 16

/** The nth document, with an id of another system. */
const foreignBody: typeof documentBody = (at, documents) =>
  `{"_id":"${randomUUID()}",${documentBody(at, documents).slice(1)}`

export default defineScenario({
  name: 'foreign-ids',
  summary: 'pages and creates of a collection with UUIDs against one with ids of the server',

  async prepare(bench) {
    const foreign = { read: 'user', create: 'user', update: 'user', delete: 'user', ids: 'client' } as const
    const server = await bench.open('sixwire', 'sixwire', {
      isAdmin: true,
      config: { store: { collections: { own: 'shared', foreign }, automaticIndexes: false } },
    })
    const { documents: to } = bench.settings
    await seed(bench, server, 'own', { to })
    await seed(bench, server, 'foreign', { to, bodyOf: foreignBody })
    await indexesReady(server, 'foreign', 1)
    return { server }
  },

  async *run(bench, { server }) {
    const { base, token } = server
    const { documents } = bench.settings
    const compared = (title: string, requestsOf: (collection: string) => LoadRequest[]) =>
      compare(
        bench,
        `${title}, ${CONNECTIONS} connections`,
        ['ids of the server', loadSide(bench, server, requestsOf('own'), CONNECTIONS)],
        loadSide(bench, server, requestsOf('foreign'), CONNECTIONS),
      )
    yield* compared('the newest 20', (collection) => [{ path: `/store/${collection}` }])

    // Half of the collection is in front of it.
    const cursors = new Map<string, string>()
    for (const collection of ['own', 'foreign']) {
      const path = `/store/${collection}?limit=1&offset=${documents / 2}`
      const { nextCursor } = await askFor<{ nextCursor: string }>(base, `GET ${path}`, { token })
      cursors.set(collection, nextCursor)
    }
    yield* compared('20 behind a cursor in the middle', (collection) => [
      { path: `/store/${collection}?cursor=${cursors.get(collection)}` },
    ])
    yield* compared('create', (collection) =>
      Array.from({ length: 5000 }, (_, at) => ({
        method: 'POST',
        path: `/store/${collection}`,
        body: documentBody(at * 17, documents),
      })),
    )
  },
})
