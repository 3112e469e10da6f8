import assert from 'node:assert/strict'
import { test } from 'node:test'

import { parseProjection } from './projection.ts'

for (const text of ['title..', '..', '-title.', 'title,'])
  test(`the choice of fields ${text} is refused, as a part of a path is empty`, () => {
    assert.throws(() => parseProjection(text), {
      code: 'VALIDATION_ERROR',
      message: /^\/query\/fields: A part of .* is empty/,
    })
  })
