import { setImmediate } from 'node:timers/promises'

import { parseJson } from '../../../../../base/json.ts'
import { Type } from '../../../../../base/schema.ts'
import { allRows } from '../../../../../base/row-filter.ts'
import type { Static } from 'typebox'

import type { createLists } from '../../lists/list.ts'
import type { ListRequest } from '../../lists/list-source.ts'

/** How long a sample is read, how much of it, and how many fields are told. */
const TIME_MS = 2_000
const SAMPLE_CHARACTERS = 16_777_216
const FIELDS_MAX = 500
const LEVELS_MAX = 4
const PAGE = 100

export const FieldSample = Type.Object(
  {
    path: Type.String({
      description: 'Dotted; the elements of arrays have no part.',
      examples: ['author.name'],
    }),
    types: Type.Record(Type.String(), Type.Integer(), {
      description: 'How many documents have the field with each type of JSON.',
      examples: [{ string: 12, null: 1 }],
    }),
    documents: Type.Integer({ description: 'How many documents of the sample have the field.' }),
  },
  { title: 'FieldSample' },
)
export type FieldSample = Static<typeof FieldSample>

type List = ReturnType<typeof createLists>['list']

/**
 * The fields of the newest documents of a collection, and their types. It reads for at most 2 s, and at most 16 MiB.
 *
 * @param wanted how many documents
 * @returns how many documents were read, and the fields by path in the order in which they were met
 */
export async function sampleFields(
  list: List,
  collection: string,
  wanted: number,
  { options, makeRoom }: Pick<ListRequest, 'options' | 'makeRoom'> = {},
): Promise<{ sample: number; fields: FieldSample[] }> {
  const began = performance.now()
  const fields = new Map<string, { types: Map<string, number>; documents: number }>()
  let [sample, characters] = [0, 0]
  let cursor: string | undefined
  do {
    const limit = Math.min(PAGE, wanted - sample)
    const page = await list({
      collection,
      access: { rowFilter: allRows, view: undefined },
      parameters: { limit, offset: 0, total: 'none', ...(cursor !== undefined && { cursor }) },
      ...(options && { options }),
      ...(makeRoom && { makeRoom }),
    })
    for (const { body } of page.documents) {
      count(fields, typesIn(parseJson(body)))
      sample++
      characters += body.length
      // A document of 1 MiB takes some 10 ms.
      await setImmediate()
      if (performance.now() - began > TIME_MS) break
    }
    cursor = page.nextCursor
  } while (
    cursor !== undefined &&
    sample < wanted &&
    characters < SAMPLE_CHARACTERS &&
    performance.now() - began < TIME_MS
  )
  return {
    sample,
    fields: [...fields].map(([path, { types, documents }]) => ({
      path,
      types: Object.fromEntries(types),
      documents,
    })),
  }
}

function count(
  fields: Map<string, { types: Map<string, number>; documents: number }>,
  found: ReadonlyMap<string, ReadonlySet<string>>,
): void {
  for (const [path, types] of found) {
    const entry = fields.get(path)
    if (!entry && fields.size === FIELDS_MAX) continue
    const field = entry ?? { types: new Map<string, number>(), documents: 0 }
    fields.set(path, field)
    field.documents++
    for (const type of types) field.types.set(type, (field.types.get(type) ?? 0) + 1)
  }
}

/** The types of each field of a document, by path. */
function typesIn(document: unknown): Map<string, Set<string>> {
  const typesByPath = new Map<string, Set<string>>()
  const visit = (value: unknown, path: string, level: number): void => {
    if (Array.isArray(value)) {
      for (const element of value) if (typeof element === 'object') visit(element, path, level)
      return
    }
    if (typeof value !== 'object' || value === null || level === LEVELS_MAX) return
    for (const [name, inner] of Object.entries(value)) {
      // Nobody can ask for it.
      if (name === '' || name.includes('.')) continue
      const at = path === '' ? name : `${path}.${name}`
      const types = typesByPath.get(at) ?? new Set()
      // What is beyond is not told of any document.
      if (!typesByPath.has(at) && typesByPath.size === FIELDS_MAX) return
      typesByPath.set(at, types.add(typeOf(inner)))
      visit(inner, at, level + 1)
    }
  }
  visit(document, '', 0)
  return typesByPath
}

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
