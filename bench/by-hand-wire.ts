import { jsonText } from '../src/http/route.ts'
import { defineWire, route, Type } from '../src/index.ts'
import { answerOf, openLists } from './lists-by-hand.ts'

/** The lists by hand as a route of an application: what the queries cost, with the same frame around them. */
export const byHand = defineWire({
  name: 'byhand',
  options: Type.Object({ url: Type.String(), file: Type.String() }),
  async setup(_context, { url, file }) {
    const lists = await openLists(url, file)
    return {
      routes: [
        route(
          'GET /by-hand/documents/:list',
          {
            summary: 'List documents by hand',
            access: 'user',
            readsOnly: true,
            params: Type.Object({ list: Type.String() }),
            query: Type.Object({ values: Type.String() }),
            reply: { 200: Type.Object({ total: Type.Integer() }) },
          },
          async ({ params: { list }, query: { values } }) =>
            jsonText(await answerOf(lists, `documents/${list}`, encodeURIComponent(values))),
        ),
      ] as const,
      service: undefined,
    }
  },
})
