import assert from 'node:assert/strict'
import { test } from 'node:test'

import { isLoopback } from './loopback.ts'

for (const [hostname, expected] of [
  ['localhost', true],
  ['LOCALHOST', true],
  ['shop.localhost', true],
  ['127.0.0.1', true],
  ['127.255.255.254', true],
  ['::1', true],
  ['[::1]', true],
  // As a server that listens on :: sees an IPv4 peer, and as a URL writes it.
  ['::ffff:127.0.0.1', true],
  ['[::ffff:7f00:1]', true],
  ['', false],
  ['localhost.example', false],
  ['notlocalhost', false],
  ['127.0.0.1.example', false],
  ['128.0.0.1', false],
  ['127.0.0.256', false],
  ['::ffff:128.0.0.1', false],
  ['[localhost]', false],
  ['[::1', false],
  // A browser may connect to this machine for it, from a page of any origin.
  ['0.0.0.0', false],
  ['[::]', false],
] as const)
  test(`${JSON.stringify(hostname)} ${expected ? 'never leaves' : 'may leave'} this machine`, () => {
    assert.equal(isLoopback(hostname), expected)
  })
