/**
 * Whether no two elements are equal as JSON Schema has it: objects with the same fields in any order are, and 1 and 1.0. The
 * time is linear; Ajv's own check compares each pair of objects.
 */
export function areUnique(elements: readonly unknown[]): boolean {
  const texts = new Set<string>()
  // Stops at the first that is there twice.
  return elements.length < 2 || elements.every((element) => texts.size < texts.add(canonical(element)).size)
}

/** JSON with the fields of objects in one order. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  const object = value as Readonly<Record<string, unknown>>
  const fields = Object.keys(object)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${canonical(object[name])}`)
  return `{${fields.join()}}`
}
