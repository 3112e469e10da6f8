import type { TArray, TBoolean, TEnum, TInteger, TNumber, TSchema, TString, Type as TypeBox } from 'typebox'

type Builder =
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'

type Schema = Readonly<Record<string, unknown>>

// TypeBox's own markers, so that its schemas and these can contain each other. They are not part of the JSON.
const KIND = '~kind'
const OPTIONAL = '~optional'

/** What the types know of a schema with a default: an input may leave the value out. */
export type Defaulted = { default: unknown }

type Scalar<S> = {
  (options: { default: unknown } & Schema): S & Defaulted
  (options?: Schema): S
}

/** The builders of TypeBox whose types do not tell whether there is a default. */
type Defaults = {
  Array: {
    <S extends TSchema>(items: S, options: { default: unknown } & Schema): TArray<S> & Defaulted
    <S extends TSchema>(items: S, options?: Schema): TArray<S>
  }
  Boolean: Scalar<TBoolean>
  Integer: Scalar<TInteger>
  Number: Scalar<TNumber>
  String: Scalar<TString>
  Enum: {
    <const V extends readonly (string | number)[]>(
      values: V,
      options: { default: unknown } & Schema,
    ): TEnum<[...V]> & Defaulted
    <const V extends readonly (string | number)[]>(values: V, options?: Schema): TEnum<[...V]>
  }
}

/** The pattern of any name: `^.*$` leaves names out that have a line break, whose values nothing would check. */
export const ANY_NAME = '^'

const of = (kind: Builder, schema: Schema, options?: Schema): Schema =>
  Object.defineProperty({ ...schema, ...options }, KIND, { value: kind })

/**
 * Makes JSON schemas with TypeScript types, as TypeBox does: both the types and the schemas are TypeBox's.
 * TypeBox's builders would load 370 modules for these few objects, an eighth of the time that a server takes to start.
 *
 * @example
 * const Book = Type.Object({
 *   title: Type.String({ minLength: 1 }),
 *   state: Type.Enum(['new', 'used']),
 *   year: Type.Optional(Type.Integer()),
 * })
 *
 * @see https://github.com/sinclairzx81/typebox
 */
export const Type = {
  Array: (items: Schema, options?: Schema) => of('Array', { type: 'array', items }, options),
  Boolean: (options?: Schema) => of('Boolean', { type: 'boolean' }, options),
  Enum: (values: readonly (string | number)[], options?: Schema) => of('Enum', { enum: values }, options),
  Integer: (options?: Schema) => of('Integer', { type: 'integer' }, options),
  Literal: (value: string | number | boolean, options?: Schema) =>
    of('Literal', { type: typeof value, const: value }, options),
  Null: (options?: Schema) => of('Null', { type: 'null' }, options),
  Number: (options?: Schema) => of('Number', { type: 'number' }, options),
  Object: (properties: Readonly<Record<string, Schema>>, options?: Schema) => {
    const required = Object.keys(properties).filter((name) => !(OPTIONAL in properties[name]!))
    return of('Object', { type: 'object', ...(required.length > 0 && { required }), properties }, options)
  },
  Optional: (schema: Schema) =>
    Object.defineProperties({}, { ...Object.getOwnPropertyDescriptors(schema), [OPTIONAL]: { value: true } }),
  Record: (key: Schema & { pattern?: string }, value: Schema, options?: Schema) => {
    if (key['type'] !== 'string' || 'const' in key || 'enum' in key)
      throw new TypeError('The keys of a Record are a Type.String(), with a pattern or without.')
    const { pattern = ANY_NAME } = key
    return of('Record', { type: 'object', patternProperties: { [pattern]: value } }, options)
  },
  String: (options?: Schema) => of('String', { type: 'string' }, options),
  Union: (anyOf: readonly Schema[], options?: Schema) => of('Union', { anyOf }, options),
  Unknown: (options?: Schema) => of('Unknown', {}, options),
  Unsafe: (schema: Schema) => Object.defineProperty({ ...schema }, '~unsafe', { value: null }),
} as unknown as Omit<Pick<typeof TypeBox, Builder>, keyof Defaults> & Defaults
