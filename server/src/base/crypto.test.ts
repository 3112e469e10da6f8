import assert from 'node:assert/strict'
import { createHash, createHmac, hkdfSync } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { deriveKey, keyOf, randomToken, sha256 } from './crypto.ts'
import { anyText } from '../testing/any-text.ts'

const text = anyText()

test('sha256 is the hash of the text in UTF-8', () => {
  // https://csrc.nist.gov/csrc/media/projects/cryptographic-standards-and-guidelines/documents/examples/sha256.pdf
  assert.equal(
    Buffer.from(sha256('abc'), 'base64url').toString('hex'),
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  )
  assert.equal(
    sha256('é'),
    createHash('sha256')
      .update(Buffer.from([0xc3, 0xa9]))
      .digest('base64url'),
  )
})

test('a random token is 256 bits of base64url, and never the same', () => {
  const tokens = Array.from({ length: 1000 }, randomToken)
  for (const token of tokens) {
    assert.match(token, /^[\w-]{43}$/)
    assert.equal(Buffer.from(token, 'base64url').length, 32)
  }
  assert.equal(new Set(tokens).size, 1000)
})

test('what was sealed is opened', () => {
  const key = deriveKey('secret', 'purpose')
  fc.assert(fc.property(text, (plain) => assert.equal(key.open(key.seal(plain)), plain)))
  const large = 'x'.repeat(2_000_000)
  assert.equal(key.open(key.seal(large)), large)
})

test('the same text is sealed differently each time, and nothing of it can be read', () => {
  const key = deriveKey('secret', 'purpose')
  const sealed = Array.from({ length: 1000 }, () => key.seal('hello hello hello'))
  assert.equal(new Set(sealed).size, 1000)
  assert.equal(
    new Set(sealed.map((one) => Buffer.from(one, 'base64url').subarray(0, 12).toString('hex'))).size,
    1000,
  )
  for (const one of sealed) {
    assert.match(one, /^[\w-]+$/)
    assert.ok(!Buffer.from(one, 'base64url').includes('hello'))
  }
})

test('what was changed anywhere, cut or made longer is not opened', () => {
  const key = deriveKey('secret', 'purpose')
  const sealed = Buffer.from(key.seal('the text'), 'base64url')
  for (let at = 0; at < sealed.length; at++)
    for (const bit of [1, 0x80]) {
      const changed = Buffer.from(sealed)
      changed[at]! ^= bit
      assert.throws(() => key.open(changed.toString('base64url')), Error)
    }
  for (let length = 0; length < sealed.length; length++)
    assert.throws(() => key.open(sealed.subarray(0, length).toString('base64url')), Error)
  assert.throws(() => key.open(Buffer.concat([sealed, Buffer.from([0])]).toString('base64url')), Error)
  for (const nonsense of ['', 'x', 'null', '!!!!', 'a'.repeat(100)])
    assert.throws(() => key.open(nonsense), Error)
})

test('keys of another secret or purpose open nothing and make another mac', () => {
  const key = deriveKey('secret', 'purpose')
  for (const other of [
    deriveKey('secre', 'tpurpose'),
    deriveKey('secret2', 'purpose'),
    deriveKey('secret', 'purpose2'),
  ]) {
    assert.throws(() => other.open(key.seal('text')), Error)
    assert.notEqual(other.mac('text'), key.mac('text'))
  }
  const same = deriveKey('secret', 'purpose')
  assert.equal(same.open(key.seal('text')), 'text')
  assert.equal(same.mac('text'), key.mac('text'))
})

test('a mac is HMAC-SHA-256 under the key that HKDF derives', () => {
  const derived = Buffer.from(hkdfSync('sha256', 'secret', 'sixwire', 'purpose', 32))
  assert.equal(
    deriveKey('secret', 'purpose').mac('text'),
    createHmac('sha256', derived).update('text').digest('base64url'),
  )
})

test('bytes are opened with the key and the context they were sealed with, and with no other', () => {
  const bytes = Buffer.from('00ff80c0', 'hex')
  const key = keyOf(Buffer.alloc(32, 7))
  const sealed = key.sealBytes(bytes, 'row 1')
  assert.deepEqual(key.openBytes(sealed, 'row 1'), bytes)
  for (const context of ['row 2', 'row', '']) assert.throws(() => key.openBytes(sealed, context), Error)
  assert.throws(() => key.open(sealed), Error)
  assert.throws(() => keyOf(Buffer.alloc(32, 8)).openBytes(sealed, 'row 1'), Error)
  for (const length of [0, 16, 31, 33]) assert.throws(() => keyOf(Buffer.alloc(length)), TypeError)
})
