// Reads `/openapi.json` as a client generator does.

type Node = { [name: string]: unknown }

/** The description with every reference replaced by what it refers to. */
export function resolved<T>(description: T): T {
  const target = (reference: string): unknown =>
    reference
      .slice('#/'.length)
      .split('/')
      .reduce<unknown>((node, name) => (node as Node)[name], description)
  const replace = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(replace)
    if (typeof node !== 'object' || node === null) return node
    const { $ref } = node as { $ref?: string }
    return $ref === undefined
      ? Object.fromEntries(Object.entries(node).map(([name, inner]) => [name, replace(inner)]))
      : replace(target($ref))
  }
  return replace(description) as T
}

type Envelope = { error: { properties: { code?: { enum?: string[] } } } }
type Alternative = { anyOf?: Alternative[]; allOf?: Alternative[]; properties?: Envelope }

/** The error codes that the resolved schema of an answer names. */
export function codesIn(schema: unknown): string[] {
  const { anyOf = [], allOf = [], properties } = (schema ?? {}) as Alternative
  return [...(properties?.error?.properties.code?.enum ?? []), ...[...anyOf, ...allOf].flatMap(codesIn)]
}
