// The proxies of deploy/, where they are installed, with TLS in front of a server with the `.env` of docs/deploy.md; and
// the unit of systemd.
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'

import { temporaryFolder } from '../testing/engines.ts'
import { blocksOf } from '../testing/examples.ts'
import { freePort } from '../testing/free-port.ts'
import { PROGRAM, startProgram, type Program } from '../testing/program.ts'
import { PROXY_HOST, PROXY_NAMES, startProxy, withoutProxy } from '../testing/proxy.ts'
import { until } from '../testing/until.ts'

const run = promisify(execFile)
const MiB = 1_048_576
/** A client at an address of its own, so that it can be told from the proxy. */
const CLIENT = '127.0.0.9'

const FILE_BYTES = 100 * MiB

for (const name of PROXY_NAMES)
  test(
    `${name} as in deploy/ passes sign-in, 100 MB both ways, and the addresses of clients`,
    { skip: withoutProxy(name) },
    async (t) => {
      const ports = { proxy: await freePort(), server: await freePort() }
      const folder = await temporaryFolder(t)
      const server = await startAsInDocs(t, folder, ports.server)
      await startProxy(t, name, ports)
      const call = (method: string, path: string, headers: Record<string, string> = {}, body?: Buffer) =>
        callAs(CLIENT, ports.proxy, { method, path, headers, body })
      await until(async () => (await call('GET', '/ready').catch(() => undefined))?.status === 200)

      const json = { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9' }
      const account = Buffer.from(JSON.stringify({ email: 'me@example.com', password: 'a long passphrase' }))
      assert.equal((await call('POST', '/auth/register', json, account)).status, 201)
      const signedIn = await call('POST', '/auth/login', json, account)
      assert.equal(signedIn.status, 200, textOf(signedIn))
      const { token } = JSON.parse(textOf(signedIn)) as { token: string }
      await server.until(new RegExp(`"path":"/auth/login".*"${CLIENT.replaceAll('.', '\\.')}"`))

      const user = { authorization: `Bearer ${token}` }
      const multipart = { ...user, 'content-type': 'multipart/form-data; boundary=b' }
      const uploaded = await call('POST', '/store/upload', multipart, formOf(FILE_BYTES))
      assert.equal(uploaded.status, 201, textOf(uploaded))
      const file = JSON.parse(textOf(uploaded)) as { url: string; size: number; sha256: string }
      assert.equal(file.size, FILE_BYTES)
      assert.match(file.url, /^https:\/\/api\.example\.com\//)
      const { pathname } = new URL(file.url)
      const downloaded = await call('GET', pathname, user)
      assert.equal(createHash('sha256').update(downloaded.bytes).digest('hex'), file.sha256)
      const part = await call('GET', pathname, { ...user, range: 'bytes=0-9' })
      assert.deepEqual([part.status, textOf(part)], [206, '\u0007'.repeat(10)])

      const tooLarge = await call('POST', '/store/upload', multipart, formOf(FILE_BYTES + MiB))
      assert.match(textOf(tooLarge), /^\{"error":\{"code":"PAYLOAD_TOO_LARGE"/)

      const document = Buffer.from(JSON.stringify({ text: 'x'.repeat(500_000) }))
      for (let count = 0; count < 10; count++)
        assert.equal((await call('POST', '/store/books', { ...user, ...json }, document)).status, 201)
      const listed = await call('GET', '/store/books', user)
      // A page ends at 4 MiB.
      assert.equal((JSON.parse(textOf(listed)) as { total: number }).total, 10)
      assert.ok(listed.bytes.length > 3_900_000)

      assert.equal((await call('GET', '/metrics')).status, 403)
    },
  )

test(
  'the unit of systemd is right, and leaves little to a server that is taken over',
  {
    skip: spawnSync('systemd-analyze', ['--version']).error
      ? 'needs systemd-analyze: apt-get install systemd'
      : false,
  },
  async (t) => {
    const unit = await readFile(new URL('../../deploy/sixwire.service', import.meta.url), 'utf8')
    const file = join(await temporaryFolder(t), 'sixwire.service')
    await writeFile(file, unit.replace('/usr/bin/node', process.execPath))
    const verified = await run('systemd-analyze', ['verify', file])
    assert.equal(verified.stderr, '')
    const { stdout } = await run('systemd-analyze', ['security', '--offline=true', '--no-pager', file])
    // From 0 to 10; 9.6 without hardening.
    const [, exposure] = /exposure level for sixwire\.service: ([\d.]+)/.exec(stdout)!
    assert.ok(Number(exposure) < 2, stdout)
  },
)

/** A body of multipart/form-data with one file. */
const formOf = (bytes: number): Buffer =>
  Buffer.concat([
    Buffer.from('--b\r\ncontent-disposition: form-data; name="file"; filename="f.bin"\r\n\r\n'),
    Buffer.alloc(bytes, 7),
    Buffer.from('\r\n--b--\r\n'),
  ])

/** A server with the `.env` of the page, in production. */
async function startAsInDocs(t: TestContext, folder: string, port: number): Promise<Program> {
  const [write] = await blocksOf('docs/deploy.md', 'sh')
  await run('bash', ['-euc', write!.replaceAll('npx sixwire', `"${process.execPath}" "${PROGRAM}"`)], {
    cwd: folder,
  })
  const environment = { PORT: String(port), SIXWIRE_UPLOAD_LIMIT: String(FILE_BYTES) }
  return startProgram(t, ['start'], { folder, environment })
}

type Answer = { status: number; bytes: Buffer }
const textOf = ({ bytes }: Answer): string => bytes.toString()

type CallOptions = { method: string; path: string; headers: Record<string, string>; body: Buffer | undefined }

/** A call from a local address of the client's own, to the proxy under its public name. */
async function callAs(
  localAddress: string,
  port: number,
  { method, path, headers, body }: CallOptions,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const sent = request(
    {
      host: '127.0.0.1',
      port,
      localAddress,
      method,
      path,
      headers: { ...headers, host: PROXY_HOST },
      servername: PROXY_HOST,
      rejectUnauthorized: false,
    },
    (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => resolve({ status: answer.statusCode!, bytes: Buffer.concat(chunks) }))
    },
  )
  sent.on('error', reject)
  sent.end(body)
  return promise
}
