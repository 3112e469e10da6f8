import type { SqliteFunctions } from './sqlite-functions.ts'

export const functions: SqliteFunctions = {
  test_length: (text: string) => text.length,
  test_bytes: (text: string) => Buffer.from(text),
  test_fails: () => {
    throw new Error('this function fails')
  },
}
