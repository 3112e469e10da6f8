/** More names than this in one place are keys, not fields. */
const PROPERTIES_MAX = 100
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

type Type = 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object'

/** What values at one place have in common. */
type Seen = {
  readonly types: Set<Type>
  /** Whether all texts are times as `toISOString` writes them. */
  areTimes: boolean
  items: Seen | undefined
  /** Undefined once there are too many. */
  properties: Map<string, Seen> | undefined
}

const nothing = (): Seen => ({ types: new Set(), areTimes: true, items: undefined, properties: new Map() })

/** A JSON Schema that all of many documents fit, made from them one by one. No field is required. */
export function createDerivedSchema() {
  const root = nothing()
  return {
    add: (document: object): void => see(root, document),
    schema: () => schemaOf(root),
  }
}

function see(seen: Seen, value: unknown): void {
  const type = typeOf(value)
  seen.types.add(type)
  if (type === 'string') seen.areTimes &&= TIME.test(value as string)
  else if (type === 'array') {
    seen.items ??= nothing()
    for (const one of value as unknown[]) see(seen.items, one)
  } else if (type === 'object') {
    for (const [name, one] of Object.entries(value as object)) {
      const property = seen.properties?.get(name) ?? nothing()
      seen.properties?.set(name, property)
      if (seen.properties) see(property, one)
    }
    if (seen.properties && seen.properties.size > PROPERTIES_MAX) seen.properties = undefined
  }
}

function typeOf(value: unknown): Type {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value as 'boolean' | 'string' | 'object'
}

function schemaOf({ types, areTimes, items, properties }: Seen): Record<string, unknown> {
  const names = [...types].filter((type) => type !== 'integer' || !types.has('number'))
  return {
    ...(names.length > 0 && { type: names.length === 1 ? names[0] : names }),
    ...(types.has('string') && areTimes && { format: 'date-time' }),
    ...(items && items.types.size > 0 && { items: schemaOf(items) }),
    ...(properties &&
      properties.size > 0 && {
        properties: Object.fromEntries([...properties].map(([name, one]) => [name, schemaOf(one)])),
      }),
  }
}
