import assert from 'node:assert/strict'

import { sql } from '../../../../../db/sql.ts'
import type { TestApp } from '../../../../../testing/app.ts'
import { until } from '../../../../../testing/until.ts'
import type { Json } from '../../language/query/filter.ts'
import { tokensOf } from '../../language/search/tokens.ts'

/** A search as it is thought of. */
export type Search = {
  readonly terms: readonly {
    readonly words: string
    readonly isPrefix: boolean
    readonly isUnwanted: boolean
  }[]
}

/** A search as it is written. */
export const written = ({ terms }: Search): string =>
  terms
    .map(({ words, isPrefix, isUnwanted }) => {
      const text = /\s/.test(words) ? `"${words}"` : words
      return `${isUnwanted ? '-' : ''}${text}${isPrefix ? '*' : ''}`
    })
    .join(' ')

/**
 * How good a hit a document is, or undefined if it is none: each term counts by the first of the texts that it is in.
 *
 * @param texts those of each field
 */
export function scoreOfTexts({ terms }: Search, texts: readonly (readonly string[])[]): number | undefined {
  const fields = texts.map((of) => of.map((text) => ` ${tokensOf(text).join(' ')} `))
  let score = 0
  const seen = new Set<string>()
  for (const { words, isPrefix, isUnwanted } of terms) {
    const tokens = tokensOf(words)
    if (tokens.length === 0) continue
    const part = ` ${tokens.join(' ')}${isPrefix ? '' : ' '}`
    const field = fields.findIndex((of) => of.some((text) => text.includes(part)))
    if ((field === -1) !== isUnwanted) return undefined
    const term = `${part}${isUnwanted}`
    if (!isUnwanted && !seen.has(term)) score += 4 - Math.min(field, 3)
    seen.add(term)
  }
  return score
}

/** The texts of a field, through objects and arrays of objects. */
export function textsOf(value: Json | undefined, [name, ...rest]: readonly string[]): string[] {
  if (name === undefined) return [value].flat().filter((one) => typeof one === 'string')
  const objects = [value]
    .flat()
    .filter((one) => typeof one === 'object' && one !== null && !Array.isArray(one))
  return objects.flatMap((one) => textsOf((one as Record<string, Json>)[name], rest))
}

/** Waits until a collection can be searched. */
export const searchable = (app: TestApp, collection: string, token: string): Promise<void> =>
  until(async () => {
    const { status, text } = await app.request('GET', `/store/${collection}?search=x`, { token })
    assert.ok(status === 200 || status === 503, text)
    return status === 200
  })

/** The words in the tables are of the documents: none is without, and there are no others. */
export async function assertWords({ app: { db } }: TestApp): Promise<void> {
  const rows = await db.scan<{ line: string }>(sql`select index_id || ' ' || id as line from store_search`)
  const expected = await db.scan<{ line: string }>(sql`
    select i.id || ' ' || d.id as line from store_indexes i join store_documents d on d.collection = i.collection
    where i.is_search and i.state = 'ready'`)
  const linesOf = (of: { line: string }[]) => of.map(({ line }) => line).toSorted()
  assert.deepEqual(linesOf(rows), linesOf(expected))
  if (db.dialect === 'sqlite') {
    const [row] = await db.scan<{ words: number }>(sql`select count(*) as words from store_search_words`)
    assert.equal(row!.words, rows.length)
  }
}
