import type { TSchema } from 'typebox'

import { isPlain } from './fields.ts'

/** The value at a dotted path of options, `smtp.url`; undefined if it is not set. */
export const valueAt = (options: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce(
      (value, step) => (isPlain(value) && Object.hasOwn(value, step) ? value[step] : undefined),
      options,
    )

/** Sets the value at a dotted path, and creates the objects on the way. What is not an object there stays. */
export function setAt(options: unknown, path: string, value: unknown): void {
  const [step = '', ...rest] = path.split('.')
  if (!isPlain(options)) return
  if (rest.length === 0) options[step] = value
  else {
    // A name may be that of what objects inherit, such as constructor.
    if (!Object.hasOwn(options, step) || options[step] === undefined) options[step] = {}
    setAt(options[step], rest.join('.'), value)
  }
}

type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
}

/** The schema of the option at a dotted path, where `*` is any entry of a map; undefined if there is no such option. */
export function schemaAt(schema: TSchema | undefined, path: string): TSchema | undefined {
  let at: Schema | undefined = schema
  for (const step of path.split('.')) {
    if (at === undefined) return undefined
    const { properties = {}, patternProperties = {}, additionalProperties } = at
    const [, ofMap] = Object.entries(patternProperties).find(
      ([pattern]) => step === '*' || new RegExp(pattern, 'u').test(step),
    ) ?? [undefined, typeof additionalProperties === 'object' ? additionalProperties : undefined]
    at = Object.hasOwn(properties, step) ? properties[step] : ofMap
  }
  return at
}
