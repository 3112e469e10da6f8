import type { Api, CallReply } from '../../../../client/src/index.ts'
import { six } from '../../parts/session.ts'

/** The last part of the address of a document that is not created yet: no id has a dot. */
export const NEW = '.new'

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

/** One collection; undefined if it is neither declared nor has documents. */
export async function loadCollection(
  name: string,
  signal: AbortSignal,
): Promise<CollectionSummary | undefined> {
  let cursor: string | undefined
  do {
    const page = await six.call('GET /store/collections', { query: { cursor }, signal })
    const match = page.data.find((one) => one.name === name)
    if (match) return match
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return undefined
}
