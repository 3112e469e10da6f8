import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'

import { ApiError } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { sample } from '../../../testing/long-run.ts'
import { readArchive, type ArchiveSink } from './archive-reader.ts'
import type { ArchivedDocument, ArchivedFile } from './archive-lines.ts'
import {
  archiveOf,
  compressed,
  documentOf,
  entriesOf,
  piecesOf,
  sampleEntries,
  sampleFiles,
  sha256,
  stateOf,
  tarHeader,
  tarOf,
  type Entry,
} from './archive.fixture.ts'

const read = (bytes: Buffer, sink?: ArchiveSink, piece?: number) => readArchive(piecesOf(bytes, piece), sink)

/** The message of the BACKUP_DAMAGED with which the archive is refused. */
async function faultOf(bytes: Buffer, what: string): Promise<string> {
  try {
    await read(bytes)
  } catch (error) {
    assert.ok(error instanceof ApiError && error.code === 'BACKUP_DAMAGED', `${what}: ${String(error)}`)
    return error.message
  }
  throw new Error(`${what} was not refused`)
}

/** The sample with one entry changed. */
const sampleWith = async (name: RegExp, change: (entry: Entry) => Entry | Entry[]): Promise<Buffer> =>
  archiveOf(sampleEntries().flatMap((entry) => (name.test(entry.name) ? change(entry) : entry)))

/** The sample with a line of text replaced, and a manifest that says so. */
async function replaced(entry: string, from: string | RegExp, to: string): Promise<Buffer> {
  const entries = sampleEntries()
  const one = entries.find(({ name }) => name === entry)!
  const before = { size: one.bytes!.length, sha256: sha256(one.bytes!) }
  const text = one.bytes!.toString()
  assert.match(text, from instanceof RegExp ? from : new RegExp(RegExp.escape(from)))
  one.bytes = Buffer.from(text.replace(from, to))
  const last = entries.at(-1)!
  last.bytes = Buffer.from(
    last
      .bytes!.toString()
      .replace(
        `"size":${before.size},"sha256":"${before.sha256}"`,
        `"size":${one.bytes.length},"sha256":"${sha256(one.bytes)}"`,
      ),
  )
  return archiveOf(entries)
}

/** All that is read of an archive. */
async function contentOf(bytes: Buffer): Promise<string> {
  const seen: string[] = []
  await read(bytes, {
    documents: async (name, batch) => void seen.push(name, JSON.stringify(batch)),
    files: async (batch) => void seen.push(JSON.stringify(batch)),
    async content({ id }, content) {
      seen.push(id, sha256(Buffer.concat(await Array.fromAsync(content))))
    },
  })
  return seen.join('\n')
}

describe('an archive', () => {
  test('that others wrote is read as the store writes documents', async () => {
    const document = documentOf(String.raw`"b":1.50,"1":"\u00e9\/" , "e": 1E2 `)
    const documentsRead: ArchivedDocument[] = []
    await read(await archiveOf(entriesOf({ c: [document] })), {
      documents: async (_, batch) => void documentsRead.push(...batch),
      files: async () => undefined,
      content: async () => undefined,
    })
    assert.equal(documentsRead[0]!.body, document.text.replace(/"b".*/, '"1":"é/","b":1.5,"e":100}'))
  })

  test('is read as it was written, in pieces of any length', async () => {
    const entries = sampleEntries()
    const bytes = await archiveOf(entries)
    for (const piece of [1, 7, 512, 65_536]) {
      const documents: Record<string, ArchivedDocument[]> = {}
      const files: ArchivedFile[] = []
      const contents: [string, string][] = []
      const manifest = await read(
        bytes,
        {
          documents: async (collection, batch) => void (documents[collection] ??= []).push(...batch),
          files: async (batch) => void files.push(...batch),
          async content({ id }, content) {
            contents.push([id, sha256(Buffer.concat(await Array.fromAsync(content)))])
          },
        },
        piece,
      )
      assert.deepEqual(
        manifest.collections.map(({ name, lines }) => [name, lines]),
        [
          ['Books', 3],
          ['books', 1],
          ['z', 0],
        ],
      )
      assert.deepEqual(
        documents['Books']!.map(
          ({ id, owner, version, body }) =>
            `{"id":"${id}","owner":${JSON.stringify(owner)},"version":${version},"document":${body}}\n`,
        ).join(''),
        entries[0]!.bytes!.toString(),
      )
      assert.deepEqual(
        contents,
        files.map((file) => [file.id, file.sha256]),
      )
      assert.equal(files[0]!.metadata, '{"b":1,"a":2}')
      assert.equal(files[0]!.originalName, '../ü"\n.txt')
      const { access, status, refusal, image, attachedBy } = files[0]!
      assert.deepEqual(
        [access, status, refusal, image, attachedBy],
        ['public', 'ready', null, '{"width":1}', 'a.b'],
      )
    }
  })

  test('has definitions before its files, each of a collection, and what the manifest says', async () => {
    const definitions = { books: { read: 'public' }, 'work-items': { schema: { title: ',"definition":' } } }
    const entries = entriesOf({ books: [] }, sampleFiles(), definitions)
    const found: (readonly [string, unknown])[] = []
    await read(await archiveOf(entries), {
      definitions: (batch) =>
        void found.push(
          ...batch.map(({ id, definition }) => [id, JSON.parse(definition) as unknown] as const),
        ),
    })
    assert.deepEqual(Object.fromEntries(found), definitions)

    const at = entries.findIndex(({ name }) => name === 'definitions.jsonl')
    const { bytes } = entries[at]!
    const changed = (text: string) =>
      archiveOf(entries.with(at, { name: 'definitions.jsonl', bytes: Buffer.from(text) }))
    for (const [archive, fault] of [
      [changed('{"id":"books","definition":{"read":"admin"}}\n'), /definitions\.jsonl: its lines is not/],
      [changed(bytes!.toString().replace('public', 'secret')), /definitions\.jsonl: its sha256 is not/],
      [changed('{"id":"1","definition":{}}\n'), /line 1: its id is no name of a collection/],
      [changed('{"id":"a","definition":7}\n'), /line 1: its definition is not an object/],
      [changed('{"id":"b","definition":{}}\n{"id":"a","definition":{}}\n'), /line 2: its id does not sort/],
      [archiveOf(entries.toSpliced(at, 1)), /definitions\.jsonl: its lines is not/],
      [
        archiveOf(entries.toSpliced(at, 1).toSpliced(at + 1, 0, entries[at]!)),
        /"definitions\.jsonl": it is not expected/,
      ],
      [
        archiveOf([entries[at]!, ...entries.toSpliced(at, 1)]),
        /"collections\/books\.jsonl": it is not expected/,
      ],
    ] as const)
      assert.match(await faultOf(await archive, String(fault)), fault)
  })

  test('of a version that knew less of files is read as of new files', async () => {
    const [file, other] = sampleFiles()
    const refused = { ...other!, state: stateOf(other!.id, '"refused","refusal":"\\"a\\""') }
    const filesRead: ArchivedFile[] = []
    await read(await archiveOf(entriesOf({}, [{ ...file!, state: '' }, refused])), {
      documents: async () => undefined,
      files: async (batch) => void filesRead.push(...batch),
      content: async (_, content) => void (await Array.fromAsync(content)),
    })
    const { access, publicKey, status, attachedBy } = filesRead[0]!
    assert.deepEqual([access, status, attachedBy], ['private', 'ready', null])
    assert.match(publicKey, /^[0-9a-f]{32}$/)
    assert.deepEqual([filesRead[1]!.status, filesRead[1]!.refusal], ['refused', '"a"'])
  })

  test('is refused if a byte is another one, unless it says the same', async () => {
    const bytes = await archiveOf(sampleEntries())
    const expected = await contentOf(bytes)
    // Some bits of a compressed block mean nothing: the sum of what is decompressed is right then.
    let harmless = 0
    const seed = randomInt(2 ** 31)
    const places = new Set(Array.from({ length: 64 }, (_, at) => at))
    for (let at = 0, state = seed; at < 150; at++) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      places.add(state % bytes.length)
    }
    for (let at = 1; at <= 8; at++) places.add(bytes.length - at)
    for (const place of places) {
      const flipped = Buffer.from(bytes)
      flipped[place]! ^= 1 << ((place + seed) % 8)
      const what = `seed ${seed}: byte ${place}`
      const content = await contentOf(flipped).catch((error: unknown) => {
        assert.equal((error as ApiError).code, 'BACKUP_DAMAGED', what)
      })
      if (content === undefined) continue
      harmless++
      assert.equal(content, expected, what)
    }
    assert.ok(harmless <= places.size / 20, `seed ${seed}: ${harmless} changes were taken`)
  })

  test('is refused if it is cut, or more follows', async () => {
    const bytes = await archiveOf(sampleEntries())
    for (let length = 0; length < bytes.length; length += length < 40 ? 1 : 61)
      await faultOf(bytes.subarray(0, length), `the first ${length} bytes`)
    await faultOf(bytes.subarray(0, -1), 'all but one byte')
    for (const more of [Buffer.from('x'), Buffer.alloc(512), compressed(Buffer.from('x'))])
      assert.match(
        await faultOf(Buffer.concat([bytes, more]), 'more'),
        /bytes follow its end|not a whole tar/,
      )
    await faultOf(Buffer.concat([bytes, bytes]), 'two archives')
    const tar = await tarOf(sampleEntries())
    await faultOf(tar, 'no compression')
    await faultOf(compressed(tar.subarray(0, -1024)), 'no end')
    await faultOf(compressed(tar.subarray(0, -512)), 'half an end')
    await faultOf(compressed(Buffer.concat([tar, Buffer.from('x')])), 'bytes after the end of the tar')
    await faultOf(compressed(Buffer.concat([tar.subarray(0, -512), tar])), 'entries behind half an end')
  })

  test('without its end is refused, also where the decoder finds that before an entry is read', async () => {
    const files = [2_000_000, 100_000, 100_000, 100_000].map((size) => ({
      id: newId(),
      owner: 'owner',
      name: 'random',
      bytes: randomBytes(size),
    }))
    const bytes = await archiveOf(entriesOf({}, files))
    for (const missing of [20, 5_000, 40_000]) {
      const slow: ArchiveSink = {
        async content(_, pieces) {
          await setTimeout(5)
          await Array.fromAsync(pieces)
        },
      }
      const fault = { code: 'BACKUP_DAMAGED', status: 422 }
      await assert.rejects(read(bytes.subarray(0, -missing), slow), fault, `${missing} bytes missing`)
    }
  })

  test('is read if its compression has several frames, or no checksum', async () => {
    const tar = await tarOf(sampleEntries())
    const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 9])
    const frames = [compressed(tar.subarray(0, 1024)), skippable, compressed(tar.subarray(1024), 0)]
    assert.equal(await contentOf(Buffer.concat(frames)), await contentOf(compressed(tar)))
  })

  test('is refused for a byte of the tar that changes what it says', async () => {
    const tar = await tarOf(sampleEntries())
    let harmless = 0
    const expected = await contentOf(compressed(tar))
    const places: number[] = []
    for (let place = 0; place < tar.length; place += place < 1024 ? 3 : 211) places.push(place)
    for (const place of sample(places, 150)) {
      const flipped = Buffer.from(tar)
      flipped[place]! ^= 0x11
      const content = await contentOf(compressed(flipped)).catch((error: unknown) => {
        assert.equal((error as ApiError).code, 'BACKUP_DAMAGED', `byte ${place} of the tar`)
      })
      if (content === undefined) continue
      assert.equal(content, expected, `byte ${place} of the tar`)
      // The padding of an entry; of the rest nothing but the manifest's own version and time is in no checksum.
      if (tar[place] !== 0) harmless++
    }
    assert.ok(harmless <= 1, `${harmless} changes were taken`)
  })

  test('is refused for entries that no backup has', async () => {
    const name = (to: string) => sampleWith(/^files\//, (entry) => ({ ...entry, name: to }))
    for (const path of [
      '../x',
      'files/../x',
      '/etc/x',
      'files/x',
      'files/01ARZ3NDEKTSV4RRFFQ69G5FAV',
      'files\\x',
      './files.jsonl',
      `${'a'.repeat(99)}/${'b'.repeat(90)}`,
      'ü'.repeat(99),
    ])
      await faultOf(await name(path), path)
    for (const type of [
      'link',
      'symlink',
      'character-device',
      'block-device',
      'directory',
      'fifo',
      'contiguous-file',
    ] as const)
      for (const at of [/^files\//, /^collections\/Books/, /^manifest/])
        await faultOf(
          await sampleWith(at, (entry) => [{ name: entry.name, type, linkname: '/etc/passwd' }, entry]),
          type,
        )
    for (const at of [/^files\//, /^files\.jsonl/, /^collections\/books/, /^manifest/]) {
      await faultOf(await sampleWith(at, (entry) => [entry, entry]), `${at} twice`)
      await faultOf(await sampleWith(at, () => []), `${at} missing`)
    }
    await faultOf(await archiveOf(sampleEntries().toReversed()), 'the order reversed')
    const [first, second, ...rest] = sampleEntries()
    await faultOf(await archiveOf([second!, first!, ...rest]), 'collections in another order')
    await faultOf(
      await sampleWith(/^files\.jsonl/, (entry) => [{ name: 'collections/health.jsonl' }, entry]),
      '',
    )
    await faultOf(await archiveOf([]), 'no entries')
  })

  test('is refused for a manifest that does not match the archive', async () => {
    const entries = sampleEntries()
    const manifest = JSON.parse(entries.at(-1)!.bytes!.toString()) as Record<string, unknown>
    const lies: unknown[] = [
      null,
      [],
      'x',
      { ...manifest, format: 'sixwire-store-3' },
      { ...manifest, more: 1 },
    ]
    // Each of its values replaced, in turn.
    const change = (value: unknown): unknown[] =>
      typeof value === 'number'
        ? [value + 1, -1, 1.5, String(value)]
        : typeof value === 'string'
          ? [`${value}x`, value.replace(/[0-9a-f](?=[^0-9a-f]*$)/, (c) => (c === '0' ? '1' : '0')), 1]
          : Array.isArray(value)
            ? [
                value.slice(1),
                [...value, value[0]],
                value.toReversed(),
                ...value.flatMap((one, at) => change(one).map((to) => value.with(at, to))),
              ]
            : Object.entries(value as object).flatMap(([key, one]) => [
                ...change(one).map((to) => ({ ...(value as object), [key]: to })),
                { ...(value as object), [key]: undefined },
              ])
    for (const [key, value] of Object.entries(manifest)) {
      if (key === 'sixwire') continue
      for (const lie of change(value)) {
        if (key === 'createdAt' && /^[\d:T.-]{23}Z$/.test(String(lie))) continue
        lies.push({ ...manifest, [key]: lie })
      }
      lies.push({ ...manifest, [key]: undefined })
    }
    for (const lie of sample(lies, 60)) {
      if (JSON.stringify(lie) === JSON.stringify(manifest)) continue
      entries.at(-1)!.bytes = Buffer.from(JSON.stringify(lie))
      await faultOf(await archiveOf(entries), JSON.stringify(lie))
    }
  })

  test('is refused for lines that the store could not have written', async () => {
    const books = 'collections/Books.jsonl'
    const wrong: [entry: string, from: string | RegExp, to: string, fault: RegExp][] = [
      [books, '"version":7', '"version":0', /line 1: its version/],
      [books, '"version":7', '"version":"7"', /line 1: its version/],
      [books, '"version":7', '"version":7,"more":1', /unknown field "more"/],
      [books, '"owner":"a\\"b"', '"owner":null', /line 1: its owner/],
      [books, '"owner":"a\\"b"', '"owner":""', /line 1: its owner/],
      [books, /\{"id":"./, '{"id":" ', /line 1: its id/],
      [books, /"_id":"./, '"_id":"1', /does not begin with _id/],
      [books, /"document":\{.*/, '"document":[]}', /does not begin with _id/],
      [books, '"":1', '"":1,"":2', /line 1: it is not JSON/],
      [books, '"":1', '"a":"\\u0000"', /line 1: it is not JSON/],
      [books, '"":1', '"a":"\\ud800"', /line 1: it is not JSON/],
      [books, '"":1', '"a":9007199254740993', /line 1: it is not JSON/],
      [books, '"":1', '"a":01', /line 1: it is not JSON/],
      [books, '"":1', `"a":${'['.repeat(70)}${']'.repeat(70)}`, /line 1: it is not JSON/],
      [books, '"":1', `"a":"${'a'.repeat(1_048_576)}"`, /too large/],
      [books, /\n/, '\n\n', /line 2/],
      [books, /\n$/, '', /has no end/],
      ['files.jsonl', '"size":5', '"size":6', /does not have the sizes/],
      ['files.jsonl', '"size":5', '"size":-5', /its size/],
      ['files.jsonl', /"sha256":"./, '"sha256":"x', /its sha256/],
      ['files.jsonl', 'text/plain', 'text/plain\\r\\nx: y', /media type/],
      ['files.jsonl', '"metadata":{"b":1,"a":2}', '"metadata":[]', /metadata/],
      ['files.jsonl', '"createdAt":1763852400000', '"createdAt":1e300', /createdAt/],
    ]
    for (const [entry, from, to, fault] of wrong)
      assert.match(await faultOf(await replaced(entry, from, to), to.slice(0, 80)), fault)
    const unsorted = entriesOf({ a: [documentOf(''), documentOf('')].toReversed() })
    assert.match(await faultOf(await archiveOf(unsorted), 'unsorted'), /line 2: its id does not sort/)
    const twice = documentOf('')
    assert.match(await faultOf(await archiveOf(entriesOf({ a: [twice, twice] })), 'twice'), /line 2/)
    const latin = entriesOf({ a: [documentOf('"a":"ü"')] })
    latin[0]!.bytes = Buffer.from(latin[0]!.bytes!.toString(), 'latin1')
    assert.match(await faultOf(await archiveOf(latin), 'latin'), /line 1: it is not UTF-8/)
  })

  test('stops where zeros follow that never end: in a line, in a file, behind the end', async () => {
    const whole = await tarOf(sampleEntries())
    const files = sampleEntries().filter(
      ({ name }) => name.startsWith('collections/') || name === 'files.jsonl',
    )
    // Without the end of a tar.
    const announced = (await tarOf(files)).subarray(0, -1_024)
    const file = `files/${newId()}`
    for (const [begin, fault] of [
      [
        await tarHeader('collections/a.jsonl', 2 ** 32),
        /collections\/a.jsonl, line 1: it is longer than any document/,
      ],
      [Buffer.concat([announced, await tarHeader(file, 70_006)]), /it is longer than files.jsonl says/],
      [whole, /bytes follow its end/],
    ] as const) {
      let pulled = 0
      // A frame that never ends, with a window of 2 MiB: the beginning, then 4 bytes for each 128 KiB of zeros.
      async function* bomb(): AsyncGenerator<Buffer> {
        yield Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58])
        const block = Buffer.alloc(4)
        for (let at = 0; at < begin.length; at += 65_536) {
          const piece = begin.subarray(at, at + 65_536)
          block.writeUIntLE(piece.length << 3, 0, 3)
          yield Buffer.concat([block.subarray(0, 3), piece])
        }
        block.writeUIntLE((131_072 << 3) | (1 << 1), 0, 3)
        for (const blocks = Buffer.concat(Array.from({ length: 64 }, () => block)); ; pulled += 64)
          yield blocks
      }
      await assert.rejects(readArchive(bomb()), fault)
      // 2 MiB are 16 blocks; the streams read some 64 KiB ahead.
      assert.ok(pulled < 40_000, `${pulled} blocks were read`)
    }
  })

  test('is refused with a field name that the store refuses, at any depth', async () => {
    for (const fields of ['"$x":1', '"a":[{"b":{"$y":null}}]'])
      assert.match(
        await faultOf(await archiveOf(entriesOf({ a: [documentOf(fields)] })), fields),
        /collections\/a.jsonl, line 1: a field name must not begin with \$: \/(\$x|a\/0\/b\/\$y)/,
      )
  })

  test('is taken with the zeros that other programs fill up with', async () => {
    const tar = await tarOf(sampleEntries())
    await readArchive([compressed(Buffer.concat([tar, Buffer.alloc(9_216)]))] as never)
  })

  test('ends with the error of its source or sink as it is, and closes the source', async () => {
    const bytes = await archiveOf(sampleEntries())
    let closed = 0
    async function* source(fails: boolean): AsyncGenerator<Buffer> {
      try {
        yield bytes.subarray(0, 300)
        if (fails) throw new Error('the disk is gone')
        yield bytes.subarray(300)
      } finally {
        closed++
      }
    }
    await assert.rejects(readArchive(source(true)), /^Error: the disk is gone$/)
    const sink: ArchiveSink = {
      documents: async () => {
        throw new Error('the table is full')
      },
    }
    await assert.rejects(readArchive(source(false), sink), /^Error: the table is full$/)
    assert.equal(closed, 2)
    const signal = AbortSignal.abort(new Error('stopped'))
    await assert.rejects(readArchive(source(false), {}, { signal }), /^Error: stopped$/)
  })

  test('ends with an error if its sink does not read an entry to its end', async () => {
    const sink: ArchiveSink = { content: async () => undefined }
    await assert.rejects(
      read(await archiveOf(sampleEntries()), sink),
      /^TypeError: the entry .* was not read to its end$/,
    )
  })
})
