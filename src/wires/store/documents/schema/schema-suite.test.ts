// What JSON Schema's own tests found.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { compileSchema } from './compile.ts'

for (const [keywords, value, fits] of [
  [{ multipleOf: 0.123456789 }, 1e308, false],
  [{ multipleOf: 0.123456789 }, 1e15, false],
  [{ multipleOf: 0.123456789 }, 0.987654312, true],
  [{ multipleOf: 0.01 }, 19.99, true],
  [{ multipleOf: 1e-8 }, 12391239123, true],
  [{ multipleOf: 0.5 }, 1e308, true],
  [{ multipleOf: 3 }, -7, false],
  [{ multipleOf: 3 }, 0, true],
  [{ format: 'uri' }, 'http://999.999.999.999/', true],
  [{ format: 'uri' }, 'http://a@1.2.3:80?x', true],
  [{ format: 'uri' }, 'http://1.2.3.4:a/', false],
] as const)
  test(`${JSON.stringify(keywords)} takes ${value}: ${fits}`, () => {
    const check = compileSchema({ properties: { v: keywords } }, 'schema')
    assert.equal(check({ v: value }).length === 0, fits)
  })
