import assert from 'node:assert/strict'
import { test } from 'node:test'

import { didYouMean } from './did-you-mean.ts'

const KNOWN = ['SIXWIRE_POLICY', 'SIXWIRE_ADMINS', 'SIXWIRE_WIRES', 'access', 'limit', 'user', 'GET', 'PUT']

for (const [name, meant] of [
  ['SIXWIRE_POLCY', 'SIXWIRE_POLICY'],
  ['SIXWIRE_POLICYS', 'SIXWIRE_POLICY'],
  ['SIXWIRE_POILCY', 'SIXWIRE_POLICY'],
  ['sixwire_policy', 'SIXWIRE_POLICY'],
  ['SIXWIRE_ADMIN', 'SIXWIRE_ADMINS'],
  ['acess', 'access'],
  ['Access', 'access'],
  ['limti', 'limit'],
  ['uesr', 'user'],
  ['get', 'GET'],
] as const)
  test(`${name} was meant to be ${meant}`, () => {
    assert.equal(didYouMean(name, KNOWN), `: did you mean ${meant}?`)
  })

for (const name of ['', 'x', 'it', 'HEAD', 'everybody', 'SIXWIRE_NOTHING', 'SIXWIRE_'])
  test(`"${name}" is near to nothing`, () => {
    assert.equal(didYouMean(name, KNOWN), '')
  })

test('of two names the nearer one was meant', () => {
  assert.equal(didYouMean('colour', ['colours_', 'color']), ': did you mean color?')
})
