import type { Api, CallReply } from '../../../../client/src/index.ts'
import { six } from '../../parts/session.ts'

/** The last part of the address of a document that is not created yet: no id has a dot. */
export const NEW = '.new'
/** The last part of the address of a collection's definition. */
export const DEFINITION = '.definition'
/** In place of a collection in the address: how all of them belong together. */
export const RELATIONS = '.relations'

/** A collection as operators see it. */
export type CollectionSummary = CallReply<Api, 'GET /store/collections'>['data'][number]

/** The fields that hold files, by their paths, and what they take. */
export type FileFields = CollectionSummary['files']
export type FileFieldLimits = FileFields[string]

/** A rule in words: its audiences, or its filter. */
export const ruleText = (rule: unknown): string =>
  typeof rule === 'string'
    ? rule
    : Array.isArray(rule)
      ? rule.map(ruleText).join(' or ')
      : JSON.stringify(rule)

/** All collections. */
export async function loadCollections(signal?: AbortSignal): Promise<CollectionSummary[]> {
  const all: CollectionSummary[] = []
  for (let cursor: string | undefined; ;) {
    const page = await six.call('GET /store/collections', { query: { cursor }, ...(signal && { signal }) })
    all.push(...page.data)
    cursor = page.nextCursor
    if (cursor === undefined) return all
  }
}

/** One collection; undefined if it is neither declared nor has documents. */
export const loadCollection = async (
  name: string,
  signal: AbortSignal,
): Promise<CollectionSummary | undefined> => (await loadCollections(signal)).find((one) => one.name === name)
