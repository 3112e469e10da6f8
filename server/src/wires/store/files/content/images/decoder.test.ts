// The process that decodes images: how it begins, fails and ends.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { before, describe, test, type TestContext } from 'node:test'

import sharp from 'sharp'

import { startApp, type TestApp } from '../../../../../testing/app.ts'
import { endOfSuite, someEngine, temporaryFolder } from '../../../../../testing/engines.ts'
import { startProgram } from '../../../../../testing/program.ts'
import { until } from '../../../../../testing/until.ts'
import { contentPath, upload, type Uploaded } from '../file-content.fixture.ts'
import { createDecoder } from './decoder.ts'
import { decodersOf, isRunning, untilBusy } from './decoder.fixture.ts'

const skip = process.platform !== 'linux' && 'reads /proc'

async function picture(width: number, height: number, format: 'jpeg' | 'png' = 'png') {
  const image = sharp({ create: { width, height, channels: 3, background: 'green' } }).toFormat(format)
  return new Uint8Array(await image.toBuffer())
}

/** Decoded for LONG it keeps a processor busy for some hundred milliseconds. */
const large = (): Promise<Uint8Array<ArrayBuffer>> => picture(7000, 7000, 'jpeg')
const LONG = '?width=4096&height=4096&fit=cover&format=png'

someEngine((engine) => {
  let app: TestApp
  let token: string
  const ending = endOfSuite()
  before(async () => {
    app = await startApp(ending, engine)
    token = (await app.register()).token
  })
  /** Uploads an image, and waits until its preview is made. */
  async function add(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<Uploaded> {
    const file = await upload(app, token, { bytes, type })
    const path = `/store/files/${file._id}`
    await until(async () => (await app.request('GET', path, { token })).body.image !== undefined)
    return file
  }
  const get = (file: Uploaded, query: string) => app.request('GET', contentPath(file, query), { token })

  /** The process that decodes images; it has decoded one. */
  async function decoder(): Promise<number> {
    await add(await picture(40, 30), 'image/png')
    const [pid] = decodersOf(process.pid)
    assert.ok(pid !== undefined)
    return pid
  }

  test(
    'an image is lost if its process is killed, and the next one gets a new process',
    { skip },
    async () => {
      const file = await upload(app, token, { bytes: await large(), type: 'image/jpeg' })
      const cases = [
        ['SIGKILL', 503, 'UNAVAILABLE'],
        ['SIGSEGV', 422, 'IMAGE_UNREADABLE'],
      ] as const
      for (const [signal, status, code] of cases) {
        const pid = await decoder()
        const { answer } = await untilBusy(pid, () => get(file, LONG))
        process.kill(pid, signal)
        const { status: answered, body } = await answer
        assert.deepEqual([answered, body.error.code], [status, code])
        assert.match(app.log(), new RegExp(`the process that decodes images ended by ${signal}`))
        assert.notEqual(await decoder(), pid)
      }
    },
  )

  test('an image that takes too much memory is refused, whatever its bytes and its size say', async () => {
    const wide = await upload(app, token, { bytes: await picture(500_000, 100), type: 'image/png' })
    const { status, body } = await get(wide, '?size=64')
    assert.deepEqual([status, body.error.code], [422, 'IMAGE_TOO_LARGE'])
    assert.match(body.error.message, /^This image takes more than 150 MB of memory/)
    const small = await add(await picture(40, 30), 'image/png')
    assert.equal((await get(small, '?size=64')).status, 200)
  })

  test('the process has none of the server’s environment but what it needs', { skip }, async () => {
    process.env['SECRET_OF_THIS_TEST'] = 'secret'
    const pid = await decoder()
    const names = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean)
    assert.deepEqual(
      names
        .map((one) => one.replace(/=.*/s, ''))
        .filter((name) => !/^(MALLOC_|NODE_|LD_LIBRARY_PATH$)/.test(name)),
      [],
    )
  })
})

test('what reading a source throws is thrown, and the next image is decoded', async () => {
  const decoder = createDecoder({ log: { warn: () => assert.fail('nothing is wrong with the process') } })
  const bytes = Buffer.from(await picture(40, 30))
  const summarize = (size: number, ...pieces: (Buffer | Error)[]) => {
    const read = function* () {
      for (const piece of pieces)
        if (piece instanceof Error) throw piece
        else yield piece
    }
    return decoder.summarize({ size, open: async () => Readable.from(read()) }, 'image/png')
  }
  const decoded = async () => {
    const { width, height } = await summarize(bytes.length, Buffer.from(bytes))
    assert.deepEqual([width, height], [40, 30])
  }
  await decoded()
  const refused = new Error('the storage is away')
  await assert.rejects(summarize(bytes.length, bytes.subarray(0, 20), refused), refused)
  await decoded()
  const closed = decoder.summarize({ size: 9, open: () => Promise.reject(refused) }, 'image/png')
  await assert.rejects(closed, refused)
  await decoded()
  for (const size of [bytes.length + 1, bytes.length - 1]) {
    await assert.rejects(summarize(size, Buffer.from(bytes)), { code: 'IMAGE_UNREADABLE' })
    await decoded()
  }
})

describe('of a program, the process that decodes', { skip }, () => {
  async function start(t: TestContext) {
    const folder = await temporaryFolder(t)
    const environment = { DATA_DIR: folder, SIXWIRE_SANDBOX: 'off', SIXWIRE_SECRET: 's'.repeat(40) }
    const program = startProgram(t, ['start'], { folder, environment })
    const url = await program.url()
    const registered = await fetch(`${url}/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', password: 'correct horse battery' }),
    })
    const { token } = (await registered.json()) as { token: string }
    const headers = { authorization: `Bearer ${token}` }
    const form = new FormData()
    form.set('file', new File([await large()], 'large.jpg', { type: 'image/jpeg' }))
    const uploaded = await fetch(`${url}/store/upload`, { method: 'POST', headers, body: form })
    const file = (await uploaded.json()) as Uploaded
    const record = `${url}/store/files/${file._id}`
    await until(async () => 'image' in ((await (await fetch(record, { headers })).json()) as object))
    const get = (query: string) => fetch(url + contentPath(file, query), { headers })
    const [pid] = decodersOf(program.pid)
    assert.ok(pid !== undefined)
    return { program, pid, get }
  }

  test('ends at once if the program is killed, whatever it does', async (t) => {
    const { program, pid, get } = await start(t)
    const { answer } = await untilBusy(pid, () => get(LONG).catch(() => undefined))
    await program.kill()
    await until(() => !isRunning(pid))
    await answer
  })

  test('finishes what it does if all of them are told to end, and holds nobody up', async (t) => {
    const { program, pid, get } = await start(t)
    const { answer } = await untilBusy(pid, () => get(LONG))
    process.kill(pid, 'SIGTERM')
    program.signal('SIGTERM')
    assert.equal((await answer).status, 200)
    assert.equal(await program.ended, 0)
    await until(() => !isRunning(pid))
  })
})
