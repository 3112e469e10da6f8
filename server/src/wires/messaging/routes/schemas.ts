import { Type } from '../../../base/schema.ts'

/** Text for a header field: control characters, which would end it, are refused. */
export const Line = (options: { minLength?: number; maxLength: number; examples?: string[] }) =>
  Type.String({
    ...options,
    pattern: '^[^\\u0000-\\u001f\\u007f]*$',
    description: 'One line, without control characters.',
  })
