import { SchemaFault } from './schema-fault.ts'

/** The schemas in a schema, by their JSON pointers, with the pointers of those that are asked of the same value. */
export type Subschemas = Map<string, { readonly inPlace: readonly string[] }>

/** The JSON pointer that a reference has; `undefined` for one that leads out of the schema. */
export function targetOf(reference: unknown): string | undefined {
  const [, fragment] = /^#(\/.*|)$/s.exec(String(reference)) ?? []
  try {
    return fragment && decodeURIComponent(fragment)
  } catch {
    return undefined
  }
}

/** @throws SchemaFault if a reference leads to no schema, or if a schema is asked of one value again and again */
export function checkReferences(schemas: Subschemas): void {
  const finished = new Set<string>()
  const open = new Set<string>()
  const visit = (at: string, from: string): void => {
    const schema = schemas.get(at)
    if (!schema) throw new SchemaFault(`${from}/$ref`, `there is no schema at ${JSON.stringify(`#${at}`)}`)
    if (open.has(at))
      throw new SchemaFault(at, 'the schema refers to itself for the same value, which has no end')
    if (finished.has(at)) return
    open.add(at)
    for (const other of schema.inPlace) visit(other, at)
    open.delete(at)
    finished.add(at)
  }
  for (const at of schemas.keys()) visit(at, at)
}
