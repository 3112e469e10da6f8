import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { crc32, deflateSync } from 'node:zlib'

import sharp, { type Metadata } from 'sharp'
import { thumbHashToRGBA } from 'thumbhash'

import { sql } from '../../../../../db/sql.ts'
import { startApp, type TestApp } from '../../../../../testing/app.ts'
import { endOfSuite, someEngine, temporaryFolder } from '../../../../../testing/engines.ts'
import { until } from '../../../../../testing/until.ts'
import { contentPath, upload, type Uploaded } from '../file-content.fixture.ts'

type Bytes = Uint8Array<ArrayBuffer>
type Preview = { width: number; height: number; preview: string }

const picture = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: 'green' } })

/** A PNG of one colour, of which only the first rows are there: in 1 bit a pixel, or interlaced in 64. */
function pngHeader(width: number, height: number, isInterlaced = false): Bytes {
  const chunk = (type: string, content: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), content])
    const length = Buffer.alloc(4)
    length.writeUInt32BE(content.length)
    const sum = Buffer.alloc(4)
    sum.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, sum])
  }
  const size = Buffer.alloc(13)
  size.writeUInt32BE(width)
  size.writeUInt32BE(height, 4)
  size.writeUInt8(isInterlaced ? 16 : 1, 8)
  size.writeUInt8(isInterlaced ? 6 : 0, 9)
  size.writeUInt8(isInterlaced ? 1 : 0, 12)
  const start = Buffer.from('89504e470d0a1a0a', 'hex')
  const rows = chunk('IDAT', deflateSync(Buffer.alloc(100_000)))
  return new Uint8Array(Buffer.concat([start, chunk('IHDR', size), rows, chunk('IEND', Buffer.alloc(0))]))
}

someEngine((engine) => {
  let app: TestApp
  let token: string
  let folder: string
  const ending = endOfSuite()
  before(async () => {
    folder = await temporaryFolder(ending)
    app = await startApp(ending, engine, { environment: { DATA_DIR: folder } })
    token = (await app.register()).token
  })
  const add = (bytes: Bytes, type: string) => upload(app, token, { bytes, type })

  async function get(file: Uploaded, query: string, accept = '*/*') {
    const response = await fetch(app.url + contentPath(file, query), {
      headers: { authorization: `Bearer ${token}`, accept },
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    const isImage = response.headers.get('content-type')!.startsWith('image/')
    return {
      status: response.status,
      headers: response.headers,
      bytes,
      image: (isImage ? await sharp(bytes).metadata() : {}) as Metadata,
      code: isImage ? undefined : (JSON.parse(bytes.toString()).error.code as string),
    }
  }

  /** The keys of all objects in the uploads storage. */
  async function objects(): Promise<string[]> {
    const entries = await readdir(join(folder, 'uploads'), { recursive: true, withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  }

  test('an image is turned as EXIF says, resized as asked for, and never enlarged', async () => {
    const bytes = await picture(400, 300)
      .withExif({ IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '52/1 31/1 0/1' } })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer()
    assert.ok(bytes.includes('Exif'))
    const file = await add(new Uint8Array(bytes), 'image/jpeg')
    const cases: [query: string, width: number, height: number][] = [
      ['?width=150', 150, 200],
      ['?height=200', 150, 200],
      ['?width=150&height=150', 113, 150],
      ['?width=150&height=150&fit=inside', 113, 150],
      ['?width=150&height=150&fit=cover', 150, 150],
      ['?width=150&height=150&fit=contain', 150, 150],
      ['?width=4096', 300, 400],
    ]
    for (const [query, width, height] of cases) {
      const { status, headers, image } = await get(file, query)
      assert.equal(status, 200, query)
      assert.deepEqual([image.width, image.height], [width, height], query)
      assert.deepEqual([image.format, image.exif, image.orientation], ['jpeg', undefined, undefined], query)
      assert.equal(headers.get('content-type'), 'image/jpeg')
      assert.notEqual(headers.get('etag'), `"${file.sha256}"`)
    }
    for (const format of ['avif', 'webp', 'png']) {
      const { image } = await get(file, `?width=150&format=${format}`)
      assert.deepEqual(
        [image.width, image.height, image.exif, image.orientation],
        [150, 200, undefined, undefined],
      )
    }
  })

  test('the record of an image has its size and a preview, soon after the upload', async () => {
    const halves = {
      top: 0,
      left: 0,
      input: { create: { width: 30, height: 90, channels: 3, background: 'red' } },
    } as const
    const image = picture(60, 90).composite([halves])
    const imageOf = async ({ _id }: Uploaded): Promise<Preview | undefined> =>
      (await app.request('GET', `/store/files/${_id}`, { token })).body.image
    const damaged = await add(
      new Uint8Array((await image.clone().jpeg().toBuffer()).subarray(0, 300)),
      'image/jpeg',
    )
    const files = [
      await add(
        new Uint8Array(await image.clone().withMetadata({ orientation: 6 }).jpeg().toBuffer()),
        'image/jpeg',
      ),
      await add(new Uint8Array(await image.clone().toColourspace('b-w').png().toBuffer()), 'image/png'),
    ]
    await until(async () => (await Promise.all(files.map(imageOf))).every((one) => one !== undefined))
    const [turned, grey] = await Promise.all(files.map(imageOf))
    assert.partialDeepStrictEqual(turned, { width: 90, height: 60 })
    assert.partialDeepStrictEqual(grey, { width: 60, height: 90 })
    const hash = Buffer.from(turned!.preview, 'base64')
    assert.ok(hash.length <= 32, `${hash.length} bytes`)
    const { w, h, rgba } = thumbHashToRGBA(hash)
    const pixel = (x: number, y: number) => [...rgba.subarray((x + y * w) * 4, (x + y * w) * 4 + 3)]
    const [red, , above] = pixel(16, 2)
    const [below, green] = pixel(16, h - 3)
    assert.ok(red! > 150 && above! < 100 && below! < 100 && green! > 80, 'red is above, green below')
    assert.equal(await imageOf(damaged), undefined)
  })

  test('a size is one of the list: the whole image within a square, or cropped', async () => {
    const file = await add(new Uint8Array(await picture(400, 300).png().toBuffer()), 'image/png')
    const sides = async (query: string) => {
      const { image } = await get(file, query)
      return [image.width, image.height]
    }
    assert.deepEqual(await sides('?size=128'), [128, 96])
    assert.deepEqual(await sides('?size=128x128'), [128, 128])
    assert.deepEqual(await sides('?size=1024'), [400, 300])
    const { status, body } = await app.request('GET', contentPath(file, '?size=100'), { token })
    assert.deepEqual(
      [status, body.error.details.issues],
      [
        400,
        [
          {
            path: '/query/size',
            message: 'must be one of 64, 128, 256, 512, 1024, 2048, 64x64, 128x128, 256x256, 512x512',
          },
        ],
      ],
    )
  })

  test('the format is that of the parameter, else the smallest that Accept names', async () => {
    const file = await add(new Uint8Array(await picture(40, 30).png().toBuffer()), 'image/png')
    const browser = 'image/avif,image/webp,image/apng,image/*,*/*;q=0.8'
    const cases: [query: string, accept: string, type: string, vary: string | null][] = [
      ['?size=64', browser, 'image/avif', 'Accept'],
      ['?size=64', 'image/AVIF;q=0, image/webp;q=0.5', 'image/webp', 'Accept'],
      ['?size=64', 'image/*', 'image/png', 'Accept'],
      ['?size=64&format=jpeg', browser, 'image/jpeg', null],
      ['?width=20', browser, 'image/avif', 'Accept'],
      ['?width=20&format=avif', '*/*', 'image/avif', null],
    ]
    const etags = new Set()
    for (const [query, accept, type, vary] of cases) {
      const { headers, image } = await get(file, query, accept)
      assert.equal(headers.get('content-type'), type, `${query} ${accept}`)
      assert.equal(image.format === 'heif' ? 'avif' : image.format, type.slice(6))
      assert.equal(headers.get('vary')?.replace(/^Origin(?:, )?/, '') || null, vary)
      etags.add(headers.get('etag'))
    }
    assert.equal(etags.size, 5)
    const { headers } = await get(file, '', browser)
    assert.deepEqual([headers.get('content-type'), headers.get('etag')], ['image/png', `"${file.sha256}"`])
  })

  test('what is transparent is white in a JPEG', async () => {
    const clear = { width: 20, height: 10, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } } as const
    const file = await add(new Uint8Array(await sharp({ create: clear }).png().toBuffer()), 'image/png')
    for (const query of ['?width=10', '?width=10&height=10&fit=contain']) {
      const { bytes } = await get(file, `${query}&format=jpeg`)
      assert.deepEqual(
        (await sharp(bytes).stats()).channels.map(({ min }) => min),
        [255, 255, 255],
      )
    }
  })

  test('a caller who asks for many images is refused beyond 100, and keeps nobody out', async () => {
    const noise = { width: 1000, height: 1000, channels: 3 } as const
    const bytes = await sharp(randomBytes(3_000_000), { raw: noise }).png({ compressionLevel: 0 }).toBuffer()
    const file = await add(new Uint8Array(bytes), 'image/png')
    const { token: othersToken } = await app.register()
    const others = await upload(app, othersToken, {
      bytes: new Uint8Array(await picture(40, 30).png().toBuffer()),
      type: 'image/png',
    })
    const leaving = new AbortController()
    const codes: number[] = []
    const { promise: isRefused, resolve: refuse } = Promise.withResolvers<void>()
    const asked = Array.from({ length: 130 }, async (_, n) => {
      const { status, body } = await fetch(`${app.url}${contentPath(file, `?width=${500 + n}`)}`, {
        headers: { authorization: `Bearer ${token}` },
        signal: leaving.signal,
      })
      codes.push(status)
      await body?.cancel()
      if (status === 429) refuse()
    })
    await isRefused
    const { status } = await app.request('GET', contentPath(others, '?size=64'), { token: othersToken })
    assert.equal(status, 200)
    const answered = codes.filter((code) => code === 200).length
    assert.ok(answered < 50, `${answered} images of the first caller were made before`)
    assert.ok(codes.every((code) => code === 200 || code === 429))
    leaving.abort()
    await Promise.allSettled(asked)
  })

  test('an interlaced PNG or a progressive JPEG is refused if it takes more than 75 MB', async () => {
    const jpeg = (side: number, chromaSubsampling: string) =>
      picture(side, side).jpeg({ progressive: true, chromaSubsampling }).toBuffer()
    const cases: [bytes: Bytes, type: string, code: string | undefined][] = [
      [pngHeader(3_060, 3_060, true), 'image/png', 'IMAGE_UNREADABLE'], // only the beginning is there
      [pngHeader(3_070, 3_070, true), 'image/png', 'IMAGE_TOO_LARGE'],
      [new Uint8Array(await jpeg(3_530, '4:4:4')), 'image/jpeg', undefined],
      [new Uint8Array(await jpeg(3_540, '4:4:4')), 'image/jpeg', 'IMAGE_TOO_LARGE'],
      [new Uint8Array(await jpeg(3_540, '4:2:0')), 'image/jpeg', undefined],
    ]
    for (const [bytes, type, code] of cases) {
      const answered = await get(await add(bytes, type), '?width=20')
      assert.deepEqual([answered.status, answered.code], [code ? 422 : 200, code])
    }
  })

  test('too many pixels for AVIF and WebP become JPEG, or PNG if they may be transparent', async () => {
    const clear = {
      width: 1700,
      height: 1700,
      channels: 4,
      background: { r: 0, g: 0, b: 0, alpha: 0 },
    } as const
    const opaque = await add(new Uint8Array(await picture(2100, 2100).png().toBuffer()), 'image/png')
    const transparent = await add(
      new Uint8Array(await sharp({ create: clear }).png().toBuffer()),
      'image/png',
    )
    const cases: [file: Uploaded, query: string, format: string][] = [
      [opaque, '?width=2048&format=avif', 'heif'],
      [opaque, '?width=2100&format=avif', 'jpeg'],
      [opaque, '?width=2100&format=webp', 'jpeg'],
      [opaque, '?width=2100&height=2000&fit=contain&format=webp', 'png'],
      [transparent, '?width=1500&format=webp', 'webp'],
      [transparent, '?width=1700&format=avif', 'png'],
    ]
    for (const [file, query, format] of cases) {
      const { image, headers } = await get(file, query)
      assert.equal(image.format, format, query)
      assert.equal(headers.get('content-type'), `image/${format === 'heif' ? 'avif' : format}`)
    }
  })

  test('GIF and AVIF become WebP, the others stay what they are', async () => {
    for (const [format, expected] of [
      ['png', 'png'],
      ['webp', 'webp'],
      ['gif', 'webp'],
      ['avif', 'webp'],
    ] as const) {
      const file = await add(
        new Uint8Array(await picture(20, 10).toFormat(format).toBuffer()),
        `image/${format}`,
      )
      assert.equal(file.contentType, `image/${format}`)
      const { image, headers } = await get(file, '?width=10')
      assert.deepEqual([image.format, image.width, image.height], [expected, 10, 5])
      assert.equal(headers.get('content-type'), `image/${expected}`)
    }
  })

  test('a resized image is created once, and served with the headers and conditions of any file', async () => {
    const file = await add(new Uint8Array(await picture(50, 50).png().toBuffer()), 'image/png')
    const others = (await objects()).length
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => get(file, '?width=20')))
    const etags = new Set(
      [...answers, await get(file, '?width=20')].map(({ headers }) => headers.get('etag')),
    )
    assert.equal(etags.size, 1)
    assert.equal((await objects()).length, others + 1)

    const path = contentPath(file, '?width=20')
    const [etag = ''] = [...etags]
    const whole = await get(file, '?width=20')
    const part = await app.request('GET', path, { token, headers: { range: 'bytes=1-3' } })
    assert.deepEqual([part.status, part.text], [206, 'PNG'])
    assert.equal(part.headers.get('content-range'), `bytes 1-3/${whole.bytes.length}`)
    assert.equal((await app.request('GET', path, { token, headers: { 'if-none-match': etag! } })).status, 304)
    const head = await app.request('HEAD', path, { token })
    assert.equal(head.headers.get('content-length'), String(whole.bytes.length))
  })

  test('20 variants of a file are stored, others are made for each request; all are deleted with it', async () => {
    const objectsBefore = new Set(await objects())
    const file = await add(new Uint8Array(await picture(50, 50).png().toBuffer()), 'image/png')
    for (let width = 1; width <= 22; width++)
      assert.equal((await get(file, `?width=${width}`)).image.width, width)
    assert.equal((await objects()).length, objectsBefore.size + 21)
    // A size of the list is stored always.
    await get(file, '?size=64')
    assert.equal((await objects()).length, objectsBefore.size + 22)
    assert.equal((await app.request('DELETE', `/store/files/${file._id}`, { token })).status, 200)
    await until(async () => (await objects()).every((key) => objectsBefore.has(key)))
    const { variants } = (await app.app.db.get<{ variants: number }>(
      sql`select count(*) as variants from store_variants where file_id = ${file._id}`,
    ))!
    assert.equal(variants, 0)
  })

  test('a variant whose bytes are lost is made again', async () => {
    const file = await add(new Uint8Array(await picture(50, 50).png().toBuffer()), 'image/png')
    const before = new Set(await objects())
    await get(file, '?width=20')
    const [key = ''] = (await objects()).filter((one) => !before.has(one))
    await unlink(join(folder, 'uploads', key.slice(-2), key))
    assert.equal((await get(file, '?width=20')).status, 500)
    assert.equal((await get(file, '?width=20')).status, 200)
    assert.equal((await objects()).length, before.size + 1)
  })

  test('what cannot be resized', async () => {
    const jpeg = new Uint8Array(await picture(400, 300).jpeg().toBuffer())
    const text = new TextEncoder()
    const cases: [bytes: Bytes, type: string, query: string, status: number, code: string][] = [
      [text.encode('text'), 'text/plain', '?width=10', 400, 'VALIDATION_ERROR'],
      [
        text.encode('<svg xmlns="http://www.w3.org/2000/svg"/>'),
        'image/svg+xml',
        '?width=10',
        400,
        'VALIDATION_ERROR',
      ],
      [jpeg, 'image/jpeg', '?width=0', 400, 'VALIDATION_ERROR'],
      [jpeg, 'image/jpeg', '?height=4097', 400, 'VALIDATION_ERROR'],
      [jpeg, 'image/jpeg', '?width=10&fit=fill', 400, 'VALIDATION_ERROR'],
      [jpeg, 'image/jpeg', '?fit=cover', 400, 'VALIDATION_ERROR'],
      [jpeg, 'image/jpeg', '?format=webp', 400, 'VALIDATION_ERROR'],
      [jpeg, 'image/jpeg', '?size=64&width=10', 400, 'VALIDATION_ERROR'],
      [text.encode('text'), 'text/plain', '?size=64', 400, 'VALIDATION_ERROR'],
      [jpeg.slice(0, jpeg.length / 2), 'image/jpeg', '?width=10', 422, 'IMAGE_UNREADABLE'],
      [jpeg.slice(0, 30), 'image/jpeg', '?width=10', 422, 'IMAGE_UNREADABLE'],
      [pngHeader(7100, 7100), 'image/png', '?width=10', 422, 'IMAGE_TOO_LARGE'],
      [pngHeader(6000, 6000), 'image/png', '?width=10', 422, 'IMAGE_UNREADABLE'],
    ]
    for (const [bytes, type, query, status, code] of cases) {
      const answered = await get(await add(bytes, type), query)
      assert.deepEqual([answered.status, answered.code], [status, code], `${type} ${query}`)
    }
    // The record of a restored file may say what it likes; what is read is not chosen by the bytes.
    const svg = await add(
      text.encode('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
      'image/svg+xml',
    )
    await app.app.db.write(sql`update store_files set content_type = 'image/png' where id = ${svg._id}`)
    const answered = await get(svg, '?width=5')
    assert.deepEqual([answered.status, answered.code], [422, 'IMAGE_UNREADABLE'])
  })
})
