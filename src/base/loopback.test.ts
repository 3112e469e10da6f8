import assert from 'node:assert/strict'
import { test } from 'node:test'

import { isLoopback } from './loopback.ts'

for (const [hostname, isSo] of [
  ['localhost', true],
  ['LOCALHOST', true],
  ['shop.localhost', true],
  ['127.0.0.1', true],
  ['127.255.255.254', true],
  ['::1', true],
  ['[::1]', true],
  ['', false],
  ['localhost.example', false],
  ['notlocalhost', false],
  ['127.0.0.1.example', false],
  ['128.0.0.1', false],
  // A browser may take it for this machine, and then anybody's page asks by it.
  ['0.0.0.0', false],
  ['[::]', false],
] as const)
  test(`${JSON.stringify(hostname)} ${isSo ? 'never leaves' : 'may leave'} this machine`, () => {
    assert.equal(isLoopback(hostname), isSo)
  })
