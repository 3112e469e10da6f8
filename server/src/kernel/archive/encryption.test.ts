import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'

import { decrypted, encrypted } from './encryption.ts'

const PASSPHRASE = 'correct horse battery staple'
const BLOCK_BYTES = 65_536

async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 50_000) yield bytes.subarray(at, at + 50_000)
}

async function all(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of bytes) pieces.push(piece)
  return Buffer.concat(pieces)
}

const decrypt = async (bytes: Buffer, passphrase = PASSPHRASE): Promise<Buffer> =>
  all(await decrypted(inPieces(bytes), passphrase))

test('what is encrypted is read with its passphrase, and refused if a bit was changed or its end is missing', async () => {
  const plain = randomBytes(3 * BLOCK_BYTES)
  const bytes = await all(await encrypted(inPieces(plain), PASSPHRASE, 10))
  assert.match(bytes.toString('latin1'), /^age-encryption\.org\/v1\n-> scrypt /)
  assert.ok((await decrypt(bytes)).equals(plain))
  await assert.rejects(decrypt(bytes, `${PASSPHRASE}r`), {
    message: 'the passphrase is not that of the archive',
  })
  const changed = Buffer.from(bytes)
  changed[100_000]! ^= 1
  // Within a block, and a whole one.
  for (const damaged of [changed, bytes.subarray(0, -20), bytes.subarray(0, -BLOCK_BYTES - 16)])
    await assert.rejects(decrypt(damaged), {
      message:
        'the archive is damaged: the file: bytes of it were changed, or its end is missing. Nothing was changed',
    })
  for (const other of [bytes.subarray(0, 40), Buffer.from('PK of another program'), Buffer.alloc(0)])
    await assert.rejects(decrypt(other), { message: /^this is no archive of an installation/ })
})

test('a file that can not be read is no damaged one', async () => {
  const bytes = await all(await encrypted(inPieces(randomBytes(200_000)), PASSPHRASE, 10))
  async function* failing(at: number): AsyncGenerator<Buffer> {
    yield bytes.subarray(0, at)
    throw new Error('the disk has failed')
  }
  for (const at of [10, 100_000])
    await assert.rejects(async () => all(await decrypted(failing(at), PASSPHRASE)), {
      message: 'the disk has failed',
    })
  await assert.rejects(async () => all(await encrypted(failing(10), PASSPHRASE, 10)), {
    message: 'the disk has failed',
  })
})
