import { idPattern, newId } from '../../../../base/ids.ts'
import { parseJson } from '../../../../base/json.ts'
import { allRows } from '../../../../base/row-filter.ts'
import type { Collections } from '../definition/collections.ts'
import { systemViewer } from '../definition/viewer.ts'
import { documentIdOf } from '../language/document-id.ts'
import { fieldsFrom } from '../language/document-json.ts'
import type { SystemDocument, SystemDocuments } from '../definition/system-api.ts'
import { checkHookDepth } from './hook-runner.ts'
import type { createLists } from '../lists/list.ts'
import { patchBy, updateBy } from './request-body.ts'
import { changeDocument, type DocumentChange } from './change-document.ts'
import { createDocument, type NewDocumentId } from './create-document.ts'
import { removeDocument } from './remove-document.ts'
import type { WriteContext } from './write-context.ts'

const parsedDocument = ({ body }: { readonly body: string }): SystemDocument =>
  parseJson(body) as SystemDocument

const OWN_ID = new RegExp(idPattern)

/** An id that the application gives; one of `newId` has the time of the document. */
const systemIdOf = (sent: string, now: number): NewDocumentId => ({
  recordId: OWN_ID.test(sent) ? sent : newId(now),
  sent,
  ifTaken: 'answer',
})

/** @param depth how many hooks led to what is done */
export function createSystemDocuments(
  {
    collections,
    writing,
    list,
  }: { collections: Collections; writing: WriteContext } & Pick<ReturnType<typeof createLists>, 'list'>,
  { depth }: { depth: number },
): SystemDocuments {
  const viewer = systemViewer(depth)
  async function change(
    collection: string,
    id: string,
    apply: DocumentChange['apply'],
  ): Promise<SystemDocument> {
    checkHookDepth(depth)
    return parsedDocument(await changeDocument(writing, collections.get(collection), viewer, id, { apply }))
  }
  return {
    async get(collection, id) {
      const found = await writing.documents.find(collection, id)
      return found && parsedDocument(found)
    },
    async list(collection, { filter, search, sort, limit = 20, offset = 0, cursor } = {}) {
      const { documents, total, nextCursor } = await list({
        collection,
        access: { rowFilter: allRows, view: undefined },
        parameters: {
          limit,
          offset,
          ...(filter && { filter: JSON.stringify(filter) }),
          ...(search !== undefined && { search }),
          ...(sort !== undefined && { sort }),
          ...(cursor !== undefined && { cursor }),
        },
      })
      return { data: documents.map(parsedDocument), total, nextCursor }
    },
    async create(collection, fields, { owner, id } = {}) {
      checkHookDepth(depth)
      const of = collections.get(collection)
      const sent = fieldsFrom(fields, 'documents.create')
      const newDocumentId =
        id === undefined
          ? { recordId: newId(writing.clock.now()) }
          : systemIdOf(documentIdOf(id, '/options/id'), writing.clock.now())
      return parsedDocument(
        await createDocument(writing, of, systemViewer(depth, owner), newDocumentId, sent),
      )
    },
    update: async (collection, id, fields) =>
      change(collection, id, updateBy(fieldsFrom(fields, 'documents.update'))),
    patch: async (collection, id, patch) =>
      change(collection, id, patchBy(fieldsFrom(patch, 'documents.patch'))),
    async delete(collection, id) {
      checkHookDepth(depth)
      await removeDocument(writing, collections.get(collection), viewer, id)
    },
    count: writing.documents.count,
  }
}
