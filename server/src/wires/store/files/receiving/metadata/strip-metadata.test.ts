import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { before, test } from 'node:test'

import sharp, { type Sharp } from 'sharp'

import { startApp, type TestApp } from '../../../../../testing/app.ts'
import { endOfSuite, someEngine, temporaryFolder } from '../../../../../testing/engines.ts'
import { contentPath, upload } from '../../content/file-content.fixture.ts'
import { withoutMetadata } from './strip-metadata.ts'

const AUTHOR = 'Ada of 5 Secret Street'

/** A photo that is to be turned, with a place, an author and a colour profile. */
function photo(): Sharp {
  const raw = { width: 60, height: 40, channels: 3 } as const
  return sharp(randomBytes(60 * 40 * 3), { raw })
    .withMetadata({ orientation: 6 })
    .withIccProfile('p3')
    .withExifMerge({
      IFD0: { Artist: AUTHOR },
      IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '52/1 31/1 0/1' },
    })
    .withXmp(`<x:xmpmeta xmlns:x="adobe:ns:meta/"><a>${AUTHOR}</a></x:xmpmeta>`)
}

const formats = {
  jpeg: () => photo().jpeg({ quality: 90 }).toBuffer(),
  'progressive jpeg': () => photo().jpeg({ progressive: true }).toBuffer(),
  // As phones append a second image, for HDR or depth.
  'jpeg with another': async () => Buffer.concat([await formats.jpeg(), await formats.jpeg()]),
  png: () => photo().png().toBuffer(),
  webp: () => photo().webp().toBuffer(),
}

const pixelsOf = (bytes: Buffer): Promise<Buffer> => sharp(bytes).raw().toBuffer()

someEngine((engine) => {
  let app: TestApp
  let token: string
  const ending = endOfSuite()
  before(async () => {
    app = await startApp(ending, engine, {
      environment: { DATA_DIR: await temporaryFolder(ending) },
      config: { store: { files: { stripMetadata: true } } },
    })
    token = (await app.register()).token
  })

  for (const [name, make] of Object.entries(formats))
    test(`${name}: is stored without its metadata, and looks the same`, async () => {
      const original = await make()
      assert.ok(original.includes(AUTHOR))
      const type = `image/${name.match(/jpeg|png|webp/)![0]}`
      const file = await upload(app, token, { bytes: new Uint8Array(original), type })
      const response = await fetch(app.url + contentPath(file), {
        headers: { authorization: `Bearer ${token}` },
      })
      const bytes = Buffer.from(await response.arrayBuffer())
      assert.deepEqual([file.size, file.contentType], [bytes.length, type])
      assert.equal(file.sha256, createHash('sha256').update(bytes).digest('hex'))
      assert.ok(!bytes.includes('Secret') && !bytes.includes('xmpmeta'))
      const [is, was] = await Promise.all([bytes, original].map((one) => sharp(one).metadata()))
      assert.deepEqual([is!.orientation, is!.icc, was!.orientation], [6, was!.icc, 6])
      assert.ok(/^(?:Exif\0\0)?II\*\0[^]{22}\0*$/.test(is!.exif!.toString('latin1')), 'EXIF says more')
      assert.deepEqual(await pixelsOf(bytes), await pixelsOf(original))
    })

  test('a file of another type is stored as it is', async () => {
    for (const bytes of [await photo().gif().toBuffer(), await photo().avif({ effort: 0 }).toBuffer()]) {
      const { sha256 } = await upload(app, token, { bytes: new Uint8Array(bytes), type: 'image/gif' })
      assert.equal(sha256, createHash('sha256').update(bytes).digest('hex'))
    }
  })
})

test('metadata are found in whatever pieces a file arrives', async () => {
  async function* inPieces(bytes: Buffer, size: number) {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  for (const [name, make] of Object.entries(formats)) {
    const original = await make()
    const expected = Buffer.concat(await Array.fromAsync(withoutMetadata(inPieces(original, Infinity))))
    for (const size of [1, 1021]) {
      const stripped = Buffer.concat(await Array.fromAsync(withoutMetadata(inPieces(original, size))))
      assert.ok(stripped.equals(expected), `${name} in pieces of ${size}`)
    }
    // What is cut off stays cut off.
    for (let end = 0; end < original.length; end += Math.ceil(original.length / 50)) {
      const cut = inPieces(original.subarray(0, end), 1021)
      const stripped = Buffer.concat(await Array.fromAsync(withoutMetadata(cut)))
      assert.ok(stripped.length <= end && !stripped.includes('Secret'), `${name} up to ${end}`)
    }
  }
})
