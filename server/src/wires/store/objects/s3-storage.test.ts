import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, beforeEach, describe, test } from 'node:test'

import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'

import { newId } from '../../../base/ids.ts'
import { StartError } from '../../../base/start-error.ts'
import { testClock } from '../../../testing/clock.ts'
import { endOfSuite } from '../../../testing/engines.ts'
import {
  s3OfEnvironment,
  startS3,
  startS3Proxy,
  type S3Fault,
  type S3Proxy,
  type S3Server,
} from '../../../testing/s3-server.ts'
import { until } from '../../../testing/until.ts'
import { isLongRun } from '../../../testing/long-run.ts'
import { readS3Config } from './s3-config.ts'
import { openS3Bucket, type S3Bucket } from './s3-storage.ts'
import {
  describeStorage,
  hasNone,
  inPieces,
  isUnavailable,
  readAll,
  sha256Of,
} from './storage-conformance.fixture.ts'
import { NoSuchObject } from './storage.ts'

const MIB = 1_048_576
/** An object of several parts. */
const LARGE = randomBytes((isLongRun ? 16 : 8) * MIB + 5)
const SMALL = randomBytes(10_000)

const SIZES = [1, 65_536, 8 * MIB + 1, ...(isLongRun ? [8 * MIB, 25 * MIB] : [])]

/** s3rver cannot answer a range of an object without bytes, and aborts no uploads: the long run shows these elsewhere. */
const SERVERS = [
  { name: 's3rver', server: startS3, skip: false as const, isComplete: false },
  ...(isLongRun
    ? [
        {
          name: 'SIXWIRE_TEST_S3',
          server: async () => s3OfEnvironment()!,
          skip: s3OfEnvironment() ? (false as const) : 'SIXWIRE_TEST_S3 names no server',
          isComplete: true,
        },
      ]
    : []),
]

type WriteStep = readonly [bytes: Buffer, name: string, at?: number]
const SAMPLE: readonly WriteStep[] = [
  [SMALL, 'PutObject'],
  [LARGE, 'UploadPart', 2],
]
const WRITES: readonly WriteStep[] = [
  ...SAMPLE,
  [LARGE, 'CreateMultipartUpload'],
  [LARGE, 'UploadPart', 1],
  [LARGE, 'CompleteMultipartUpload'],
]
/** What is done before the first write of a process. */
const TRIAL = [
  'PutObject',
  'GetObject',
  'CreateMultipartUpload',
  'UploadPart 1',
  'CompleteMultipartUpload',
  'GetObject',
  'PutObject',
]

for (const { name, server: startServer, skip, isComplete } of SERVERS)
  describe(`S3 at ${name}`, { skip }, () => {
    const ending = endOfSuite()
    const clock = testClock()
    const warnings: string[] = []
    let [server, proxy, sdk] = [{} as S3Server, {} as S3Proxy, {} as S3Client]
    let [bucket, storage] = [{} as S3Bucket, {} as ReturnType<S3Bucket['storage']>]

    function openAt(endpoint: string, options: { bucket?: string } = {}): S3Bucket {
      const { bucket: name, accessKeyId, secretAccessKey } = server
      const config = readS3Config({
        endpoint,
        bucket: name,
        prefix: 'a/b/',
        accessKeyId,
        secretAccessKey,
        ...options,
      })!
      const opened = openS3Bucket(
        {
          clock,
          log: { warn: (_fields, text) => void warnings.push(text) },
        },
        { config },
      )
      ending.after(async () => opened.storage('').close())
      return opened
    }
    before(async () => {
      server = await startServer(ending)
      proxy = await startS3Proxy(ending, server.url)
      bucket = openAt(proxy.url)
      storage = bucket.storage('uploads')
      const { accessKeyId, secretAccessKey } = server
      sdk = new S3Client({
        region: 'us-east-1',
        endpoint: server.url,
        forcePathStyle: true,
        credentials: { accessKeyId, secretAccessKey },
      })
      ending.after(async () => sdk.destroy())
      // The trial is done before: not all tests have it among their calls.
      await storage.write('first', inPieces(SMALL))
      await storage.remove('first')
      // Its last calls, which nothing waits for: it removes what it wrote, as this did.
      const removals = () => proxy.calls.filter((call) => call === 'DeleteObject').length
      await until(() => proxy.calls.includes('ListMultipartUploads') && removals() === 2)
    })
    beforeEach(() => proxy.heal())

    const at = (key: string) => ({ Bucket: server.bucket, Key: `a/b/uploads/${key}` })
    const partsOf = async (key: string): Promise<number> => {
      const { Bucket, Key } = at(key)
      const { Uploads = [] } = await sdk.send(new ListMultipartUploadsCommand({ Bucket, Prefix: Key }))
      return Uploads.length
    }

    test('a bucket is checked by objects that are written, read back and removed', async () => {
      const earlier = warnings.length
      const checked = openAt(proxy.url).storage('uploads')
      await checked.check()
      assert.deepEqual(proxy.calls, ['HeadBucket', ...TRIAL, 'DeleteObject', 'ListMultipartUploads'])
      const { Contents = [] } = await sdk.send(new ListObjectsV2Command({ Bucket: server.bucket }))
      assert.deepEqual(Contents, [])
      assert.equal(warnings.length - earlier, isComplete ? 0 : 1)
      if (isComplete) return
      assert.match(
        warnings[earlier]!,
        /^the bucket shop at 127\.0\.0\.1:\d+ cannot abort uploads: give it a rule/,
      )
      proxy.heal()
      await checked.check()
      assert.equal(warnings.length - earlier, 1)
      assert.ok(!proxy.calls.includes('ListMultipartUploads'), 'it is not asked again')
    })

    test('the bucket is tried before the first write of a process, and nothing is read back after that', async () => {
      const process = openAt(proxy.url).storage('uploads')
      const [small, large] = [newId(), newId()]
      await process.write(small, inPieces(SMALL))
      assert.deepEqual(proxy.calls.slice(0, TRIAL.length), TRIAL)
      assert.deepEqual(
        proxy.calls.slice(TRIAL.length).filter((name) => name.startsWith('Put') || name.startsWith('Get')),
        ['PutObject'],
      )
      await until(() => proxy.calls.includes('ListMultipartUploads'))
      proxy.heal()
      await process.write(large, inPieces(LARGE))
      const parts = Math.ceil(LARGE.length / (8 * MIB))
      assert.deepEqual(proxy.calls.toSorted(), [
        'CompleteMultipartUpload',
        'CreateMultipartUpload',
        ...Array.from({ length: parts }, (_, at) => `UploadPart ${at + 1}`),
      ])
      for (const [key, bytes] of [
        [small, SMALL],
        [large, LARGE],
      ] as const) {
        assert.ok((await readAll(process, key)).equals(bytes))
        await process.remove(key)
      }
    })

    for (const at of [0, 1])
      test(`a bucket that has other bytes than it was sent (${at}) takes no write, until it is right`, async () => {
        const process = openAt(proxy.url).storage('uploads')
        proxy.fault({ name: 'GetObject', at, damage: 'answer', times: 1 })
        const key = newId()
        await assert.rejects(process.write(key, inPieces(SMALL)), (error) =>
          isUnavailable(error, /^the bucket shop at \S+ has other bytes than it was sent$/),
        )
        await hasNone(process, key)
        const { Contents = [] } = await sdk.send(new ListObjectsV2Command({ Bucket: server.bucket }))
        assert.deepEqual(Contents, [])
        await process.write(key, inPieces(SMALL))
        await process.remove(key)
      })

    test('a warning names a bucket that does not compare what it gets', { skip: isComplete }, async () => {
      const earlier = warnings.length
      await openAt(server.url).storage('uploads').check()
      assert.match(
        warnings.slice(earlier).join('\n'),
        /takes bytes that do not have the SHA-256 sent with them: use/,
      )
    })

    describeStorage('S3', {
      open: () => storage,
      sizes: [...(isComplete ? [0] : []), ...SIZES],
      // s3rver answers 500 to the second page of a list.
      ...(isComplete ? { partsOf } : { listed: 6 }),
    })

    test('an object without bytes is written, and found with none', async () => {
      const key = newId()
      const none = Buffer.alloc(0)
      assert.deepEqual(await storage.write(key, inPieces(none)), { size: 0, sha256: sha256Of(none) })
      assert.deepEqual(proxy.calls, ['PutObject'])
      await storage.remove(key)
    })

    test('parts are larger if the object can exceed 10,000 of them', async () => {
      const key = newId()
      await storage.write(key, inPieces(LARGE), { maxBytes: 10_000 * LARGE.length })
      assert.deepEqual(proxy.calls, ['PutObject'])
      await storage.remove(key)
    })

    test('what a crash left of an upload is removed with its object', { skip: !isComplete }, async () => {
      const key = newId()
      for (const parts of [0, 1]) {
        const { UploadId } = await sdk.send(new CreateMultipartUploadCommand(at(key)))
        for (let PartNumber = 1; PartNumber <= parts; PartNumber++)
          await sdk.send(new UploadPartCommand({ ...at(key), UploadId, PartNumber, Body: SMALL }))
      }
      const other = `${key}-other`
      await sdk.send(new CreateMultipartUploadCommand(at(other)))
      assert.deepEqual([await partsOf(key), await partsOf(other)], [3, 1])
      await storage.remove(key)
      assert.deepEqual([await partsOf(key), await partsOf(other)], [1, 1])
      await storage.remove(other)
      assert.equal(await partsOf(key), 0)
    })

    test('an object is kept if an upload that was begun twice cannot be looked for, with a warning', async () => {
      const process = openAt(proxy.url).storage('uploads')
      const earlier = warnings.length
      const key = newId()
      const refused = { status: 403, code: 'AccessDenied' }
      proxy.fault({ name: 'ListMultipartUploads', answer: refused })
      // The first is the trial's.
      proxy.fault({ name: 'CreateMultipartUpload', at: 1, drop: 'answer', times: 1 })
      assert.equal((await clock.through(process.write(key, inPieces(LARGE)))).sha256, sha256Of(LARGE))
      assert.equal(proxy.calls.filter((name) => name === 'CreateMultipartUpload').length, 3)
      assert.match(
        warnings.slice(earlier).join('\n'),
        new RegExp(`may keep an unfinished upload of \\S*${key}`),
      )
      proxy.heal()
      assert.ok((await readAll(process, key)).equals(LARGE))
      await process.remove(key)
    })

    /** Writes an object through these faults; its bytes arrive, or nothing of it is left. */
    async function writeThrough(faults: readonly S3Fault[], bytes: Buffer, cause?: RegExp): Promise<void> {
      const key = newId()
      for (const fault of faults) proxy.fault(fault)
      const writing = clock.through(storage.write(key, inPieces(bytes)))
      if (cause) await assert.rejects(writing, (error) => isUnavailable(error, cause))
      else assert.equal((await writing).sha256, sha256Of(bytes))
      proxy.heal()
      if (isComplete) assert.equal(await partsOf(key), 0)
      if (cause) return hasNone(storage, key)
      assert.ok((await readAll(storage, key)).equals(bytes))
      await storage.remove(key)
    }

    for (const [bytes, name, at] of isLongRun ? WRITES : SAMPLE) {
      const step = [name, ...(at === undefined ? [] : [at])].join(' ')
      for (const drop of ['request', 'answer'] as const)
        test(`${step}: a ${drop} that is cut once is harmless`, () =>
          writeThrough([{ name, ...(at !== undefined && { at }), drop, times: 1 }], bytes))

      test(`${step}: if all are cut, nothing is left`, () =>
        writeThrough(
          [{ name, ...(at !== undefined && { at }), drop: 'request' }],
          bytes,
          /^the connection to the bucket shop at 127\.0\.0\.1:\d+ was lost \([A-Z_a-z ]+\)$/,
        ))
    }

    // The bucket has the object and never said so: reading it back decides.
    for (const [bytes, name] of [
      [SMALL, 'PutObject'],
      [LARGE, 'CompleteMultipartUpload'],
    ] as const)
      test(`${name}: if all answers are lost, what is read back decides`, () =>
        writeThrough([{ name, drop: 'answer' }], bytes))

    test('an upload that answers 200 with an error is not believed', async () => {
      const name = 'CompleteMultipartUpload'
      const answer = { status: 200, body: '<Error><Code>InternalError</Code><Message>x</Message></Error>' }
      await writeThrough([{ name, answer, times: 1 }], LARGE)
      await writeThrough([{ name, answer }], LARGE, /^the bucket shop at \S+ answered 503 \w+$/)
      await writeThrough([{ name, answer: { status: 200, body: '' } }], LARGE, /^the bucket shop at \S+ /)
    })

    for (const [bytes, name] of [
      [SMALL, 'PutObject'],
      [LARGE, 'UploadPart'],
    ] as const)
      test(`${bytes.length} bytes of which one changes on its way (${name}) are sent again, or not acknowledged`, async () => {
        await writeThrough([{ name, damage: 'request', times: 1 }], bytes)
        const cause = /^the bucket shop at \S+ answered 400 XAmzContentSHA256Mismatch$/
        await writeThrough([{ name, damage: 'request' }], bytes, cause)
      })

    test('a part that is refused ends the waiting for more bytes', async () => {
      proxy.fault({ name: 'UploadPart', answer: { status: 403, code: 'AccessDenied' } })
      const key = newId()
      const bytes = (async function* () {
        yield* inPieces(Buffer.alloc(9 * MIB))
        await new Promise(() => undefined)
      })()
      await assert.rejects(storage.write(key, bytes), (error) => isUnavailable(error, /denied access/))
      proxy.heal()
      await hasNone(storage, key)
      await storage.remove(key)
    })

    const ANSWERS: readonly [answer: S3Fault['answer'] & object, cause: RegExp, calls: number][] = [
      [
        { status: 403, code: 'AccessDenied' },
        /^\S+ \S+ shop at \S+ denied access \(403 AccessDenied\): check S3_/,
        1,
      ],
      [{ status: 403, code: 'SignatureDoesNotMatch' }, /denied access \(403 SignatureDoesNotMatch\)/, 1],
      [
        { status: 404, code: 'NoSuchBucket' },
        /^the bucket shop at \S+ does not exist: create it, or set S3_BUCKET$/,
        1,
      ],
      [{ status: 500, code: 'InternalError' }, /^the bucket shop at \S+ answered 500 InternalError$/, 3],
      [{ status: 503, code: 'SlowDown' }, /^the bucket shop at \S+ answered 503 SlowDown$/, 3],
      [
        { status: 301, code: 'PermanentRedirect', headers: { 'x-amz-bucket-region': 'eu-west-1' } },
        /^the bucket shop at \S+ is in another region, eu-west-1: set S3_REGION, or S3_ENDPOINT$/,
        1,
      ],
      [{ status: 400, code: 'AuthorizationHeaderMalformed' }, /is in another region: set S3_REGION/, 1],
      [{ status: 502, body: '<html>S3RVER</html>' }, /^the bucket shop at \S+ answered 502 \w+$/, 3],
      [{ status: 400, code: 'Not a code: S3RVER\r\n' }, /^the bucket shop at \S+ answered 400 an error$/, 1],
    ]
    for (const [answer, cause, tries] of ANSWERS)
      test(`${answer.status} ${answer.code ?? answer.body} is a sentence for the log`, async () => {
        for (const name of ['PutObject', 'GetObject', 'DeleteObject', 'HeadBucket'])
          proxy.fault({ name, answer })
        const key = newId()
        await assert.rejects(clock.through(storage.write(key, inPieces(SMALL))), (error) =>
          isUnavailable(error, cause),
        )
        assert.equal(proxy.calls.filter((name) => name === 'PutObject').length, tries)
        await assert.rejects(clock.through(storage.read(key)), (error) => isUnavailable(error, cause))
        await assert.rejects(clock.through(storage.remove(key)), (error) => isUnavailable(error, cause))
        await assert.rejects(clock.through(storage.check()), /^S3Failure: the bucket shop at [^\r\n]+$/)
      })

    test('a list goes on where a page ends, and fails if it cannot', async () => {
      const page = (key: string, next: string) =>
        `<ListBucketResult><IsTruncated>${next !== ''}</IsTruncated>${next}
         <Contents><Key>a/b/uploads/${key}</Key><Size>7</Size></Contents></ListBucketResult>`
      const token = '<NextContinuationToken>token</NextContinuationToken>'
      const listed = async () => (await Array.fromAsync(storage.list())).flat().map(({ key }) => key)
      const answer = (at: number, body: string) =>
        proxy.fault({ name: 'ListObjectsV2', at, times: 1, answer: { status: 200, body } })
      answer(0, page('one', token))
      answer(0, page('two', ''))
      assert.deepEqual(await listed(), ['one', 'two'])
      for (const next of [' ', token]) {
        answer(0, page('one', token))
        answer(0, page('two', next))
        await assert.rejects(listed(), (error) => isUnavailable(error, /does not say how its list/))
      }
      proxy.fault({ name: 'ListObjectsV2', answer: { status: 403, code: 'AccessDenied' } })
      await assert.rejects(listed(), (error) => isUnavailable(error, /denied access/))
    })

    test('a stream goes on after a cut, and ends with an error if the bucket does not', async () => {
      const key = newId()
      await storage.write(key, inPieces(LARGE))
      proxy.heal()
      proxy.fault({ name: 'GetObject', at: 1, drop: 'answer', times: 2 })
      assert.ok((await clock.through(readAll(storage, key))).equals(LARGE))
      proxy.heal()
      proxy.fault({ name: 'GetObject', at: 2, answer: { status: 403, code: 'AccessDenied' } })
      await assert.rejects(readAll(storage, key), (error) => isUnavailable(error, /denied access/))
      proxy.heal()
      proxy.fault({ name: 'GetObject', at: 2, answer: { status: 404, code: 'NoSuchKey' } })
      await assert.rejects(readAll(storage, key), NoSuchObject)
      await storage.remove(key)
    })

    test('an object that is replaced while it is read ends the stream', async () => {
      const key = newId()
      await storage.write(key, inPieces(LARGE))
      const stream = await storage.read(key)
      await storage.write(key, inPieces(randomBytes(LARGE.length)))
      await assert.rejects(stream.toArray(), (error) => isUnavailable(error, /has replaced an object while/))
      await storage.remove(key)
    })

    test('a reader that stops ends the call ahead, and small reads are one call', async () => {
      const key = newId()
      await storage.write(key, inPieces(LARGE))
      proxy.heal()
      assert.equal((await readAll(storage, key, { start: 5, end: 9_999 })).length, 9_995)
      assert.deepEqual(proxy.calls, ['GetObject'])
      proxy.fault({ name: 'GetObject', hang: true })
      proxy.calls.length = 0
      await storage.remove(key)
    })

    test('a bucket that hangs is given up after its limits of time', async () => {
      for (const name of ['PutObject', 'GetObject', 'DeleteObject', 'HeadBucket'])
        proxy.fault({ name, hang: true })
      const stuck = () => proxy.calls.length
      const key = newId()
      const writing = storage.write(key, inPieces(SMALL))
      await assert.rejects(clock.through(writing, stuck), (error) =>
        isUnavailable(error, /^the bucket shop at \S+ has not answered for \d+(\.\d)? seconds$/),
      )
      clock.advance(11_000)
      await assert.rejects(clock.through(storage.ping(), stuck), /has not answered for 1\.8 seconds$/)
      proxy.heal()
      await assert.rejects(storage.ping(), /has not answered/, 'remembered, because anybody may ask')
      assert.deepEqual(proxy.calls, [])
      clock.advance(11_000)
      await storage.ping()
    })

    test('a signal ends a write that hangs', async () => {
      const controller = new AbortController()
      proxy.fault({ name: 'UploadPart', at: 2, hang: true })
      const key = newId()
      const writing = storage.write(key, inPieces(LARGE), { signal: controller.signal })
      while (!proxy.calls.includes('UploadPart 2')) await new Promise(setImmediate)
      controller.abort(new Error('the client has gone'))
      await assert.rejects(writing, { message: 'the client has gone' })
      proxy.heal()
      await hasNone(storage, key)
    })

    test('nobody listens there', async () => {
      const dead = openAt('http://127.0.0.1:1').storage('uploads')
      const cause = /the bucket shop at 127\.0\.0\.1:1 can't be reached \(ECONNREFUSED\)$/
      await assert.rejects(dead.write(newId(), inPieces(SMALL)), (error) => isUnavailable(error, cause))
      await assert.rejects(dead.read(newId()), (error) => isUnavailable(error, cause))
      await assert.rejects(dead.ping(), cause)
      const missing = openAt(proxy.url, { bucket: 'nowhere' })
      await assert.rejects(
        missing.storage('uploads').check(),
        /the bucket nowhere at \S+ does not exist: create it/,
      )
    })
  })

describe('the configuration of S3', () => {
  test('nothing of it is set', () => {
    for (const options of [undefined, {}]) assert.equal(readS3Config(options), undefined)
  })

  test('the path style is for services with an address of their own', () => {
    const config = readS3Config({ bucket: 'shop' })!
    assert.deepEqual([config.region, config.pathStyle, config.prefix], ['us-east-1', false, ''])
    assert.equal(readS3Config({ bucket: 'shop', endpoint: 'http://minio:9000' })!.pathStyle, true)
  })

  for (const [options, setting] of [
    [{ region: 'eu-west-1' }, 'S3_BUCKET'],
    [{ bucket: 'shop', accessKeyId: 's3cret' }, 'S3_SECRET_ACCESS_KEY'],
    [{ bucket: 'shop', secretAccessKey: 's3cret' }, 'S3_ACCESS_KEY_ID'],
    [{ bucket: 'shop', endpoint: 's3cret.local' }, 'S3_ENDPOINT'],
    [{ bucket: 'shop', endpoint: 'ftp://s3cret.local' }, 'S3_ENDPOINT'],
    [{ bucket: 'shop', endpoint: 'http://a:s3cret@minio:9000' }, 'S3_ENDPOINT'],
  ] as const)
    test(`${Object.keys(options).join(' and ')} alone stop the start with a line about ${setting}`, () =>
      assert.throws(
        () => readS3Config(options),
        (error: Error) => {
          assert.ok(error instanceof StartError)
          assert.match(error.message, new RegExp(`^${setting}, or the option store\\.s3\\.\\w+: [^\\n]+$`))
          assert.ok(!error.message.includes('s3cret'))
          return true
        },
      ))
})
