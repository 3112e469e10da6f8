import type { TSchema } from 'typebox'

import type { FieldKind, ShownField } from './shown-screen.ts'

type ObjectSchema = TSchema & {
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
}

type ValueSchema = TSchema & {
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly ValueSchema[]
  readonly description?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly default?: unknown
}

/** The properties of an object's schema; undefined if it names none, and so any may be there. */
export const propertiesOf = (schema: ObjectSchema | undefined): ObjectSchema['properties'] =>
  schema?.properties

/** The schema without the null that it may be instead. */
function withoutNull(schema: TSchema): ValueSchema {
  const { anyOf = [] } = schema as ValueSchema
  const others = anyOf.filter(({ type }) => type !== 'null')
  return others.length === 1 ? others[0]! : schema
}

/** The texts that a schema lists; undefined if it lists none. */
function optionsOf(schema: ValueSchema): string[] | undefined {
  const values = schema.enum ?? (schema.const === undefined ? undefined : [schema.const])
  if (values) return values.every((one) => typeof one === 'string') ? [...values] : undefined
  const each = schema.anyOf?.map(optionsOf)
  return each && each.length > 0 && each.every((one) => one !== undefined) ? each.flat() : undefined
}

/** How a value of the schema is shown and entered. */
export function kindOf(schema: TSchema): FieldKind {
  const value = withoutNull(schema)
  if (optionsOf(value)) return 'choice'
  if (value.type === 'integer' || value.type === 'number') return 'number'
  if (value.type === 'boolean') return 'boolean'
  if (value.type === 'string')
    return value.format === 'date-time' ? 'time' : value.format === 'email' ? 'email' : 'text'
  return value.type === undefined && value.anyOf === undefined ? 'text' : 'json'
}

/** `welcomePoints` as `Welcome points`. */
export function titleOf(name: string): string {
  const words = name
    .replace(/^_/, '')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]+/g, ' ')
    .toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** The properties of an object's schema as fields. */
export function fieldsOf(schema: TSchema | undefined, place: ShownField['in']): ShownField[] {
  const { properties = {}, required = [] } = (schema ?? {}) as ObjectSchema
  return Object.entries(properties).map(([name, one]) => {
    const value = withoutNull(one)
    const { description, minimum, maximum, maxLength } = value
    const options = optionsOf(value)
    return {
      name,
      in: place,
      title: titleOf(name),
      kind: kindOf(value),
      isRequired: required.includes(name) && value.default === undefined,
      ...(description !== undefined && { description }),
      ...(options && { options }),
      ...(minimum !== undefined && { minimum }),
      ...(maximum !== undefined && { maximum }),
      ...(maxLength !== undefined && { maxLength }),
      ...(value.default !== undefined && { default: value.default }),
    }
  })
}
