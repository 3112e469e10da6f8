import { Type } from '../../../base/schema.ts'
import { plainTypeOf } from './sniff.ts'

const NAME = '[a-z0-9][a-z0-9!#$&^_.+-]{0,126}'

/** Media types that a file may have: one like `image/png`, or all of one kind like `image/*`. */
export const MediaTypes = Type.Array(Type.String({ pattern: `^${NAME}/(?:\\*|${NAME})$` }), {
  minItems: 1,
  maxItems: 50,
  examples: [['image/*', 'application/pdf']],
  description: 'Media types as the bytes show them, such as image/png; image/* stands for all images.',
})

/** @param contentType as it is stored */
export function isOfTypes(contentType: string, types: readonly string[]): boolean {
  const plain = plainTypeOf(contentType)
  return types.some((type) => (type.endsWith('/*') ? plain.startsWith(type.slice(0, -1)) : plain === type))
}
