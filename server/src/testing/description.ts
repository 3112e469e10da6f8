// Reads `/openapi.json` as a client generator does.
import { valueAtPointer } from '../base/json-pointer.ts'

/** The description with every reference replaced by what it refers to. */
export function resolved<T>(description: T): T {
  const replace = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(replace)
    if (typeof node !== 'object' || node === null) return node
    const { $ref } = node as { $ref?: string }
    return $ref === undefined
      ? Object.fromEntries(Object.entries(node).map(([name, inner]) => [name, replace(inner)]))
      : replace(valueAtPointer(description, $ref.slice('#'.length)))
  }
  return replace(description) as T
}

// An answer may have a field `error` that is text.
type Envelope = { error: { properties?: { code?: { enum?: string[] } } } }
type Alternative = { anyOf?: Alternative[]; properties?: Envelope }

/** The error codes that the resolved schema of an answer names. */
export function codesIn(schema: unknown): string[] {
  const { anyOf = [], properties } = (schema ?? {}) as Alternative
  return [...(properties?.error?.properties?.code?.enum ?? []), ...anyOf.flatMap(codesIn)]
}
