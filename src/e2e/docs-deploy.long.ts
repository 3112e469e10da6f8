// The pages of docs/deploy.md with the real proxies, where they are installed (Debian: nginx, caddy).
import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'

import { temporaryFolder } from '../testing/engines.ts'
import { blocksOf } from '../testing/examples.ts'
import { freePort } from '../testing/free-port.ts'
import { PROGRAM, startProgram, type Program } from '../testing/program.ts'
import { until } from '../testing/until.ts'

const run = promisify(execFile)
const MiB = 1_048_576
/** A client at an address of its own, so that it can be told from the proxy. */
const CLIENT = '127.0.0.9'
const HOST = 'api.example.com'

type Proxy = {
  program: string
  language: string
  start: (folder: string, block: string, ports: Ports) => Promise<string[]>
}
type Ports = { proxy: number; server: number }

const PROXIES: Record<string, Proxy> = {
  nginx: {
    program: '/usr/sbin/nginx',
    language: 'nginx',
    async start(folder, block, { proxy, server }) {
      const http = block
        .replace('listen 443 ssl;', `listen 127.0.0.1:${proxy};`)
        .replaceAll(/^ *ssl_certificate.*$/gm, '')
        .replace('127.0.0.1:3000', `127.0.0.1:${server}`)
      const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `${name}_temp_path ${folder}/${name};`)
        .join('\n')
      const file = join(folder, 'nginx.conf')
      const frame = `daemon off; pid ${folder}/pid; error_log stderr; events {}\nhttp {\naccess_log off;\n${folders}\n${http}\n}`
      await writeFile(file, frame)
      return ['-e', 'stderr', '-c', file]
    },
  },
  caddy: {
    program: '/usr/bin/caddy',
    language: 'caddyfile',
    async start(folder, block, { proxy, server }) {
      const site = block
        .replace(/^api\.example\.com/, `http://${HOST}:${proxy}`)
        .replace(':3000', `:${server}`)
      const file = join(folder, 'Caddyfile')
      await writeFile(file, `{\n\tadmin off\n}\n${site}`)
      return ['run', '--config', file, '--adapter', 'caddyfile']
    },
  },
}

for (const [name, proxy] of Object.entries(PROXIES))
  test(
    `${name} as in docs/deploy.md passes large files, and the addresses of clients`,
    { skip: spawnSync(proxy.program, ['-v']).error ? `needs ${name} on this machine` : false },
    async (t) => {
      const ports = { proxy: await freePort(), server: await freePort() }
      const folder = await temporaryFolder(t)
      const server = await startAsInDocs(t, folder, ports.server)
      await mkdir(join(folder, name))
      const [block] = await blocksOf('docs/deploy.md', proxy.language)
      const child = spawn(proxy.program, await proxy.start(join(folder, name), block!, ports), {
        env: { ...process.env, HOME: folder },
        stdio: 'ignore',
      })
      t.after(async () => {
        if (child.exitCode === null && child.kill()) await once(child, 'exit')
      })
      const call = (method: string, path: string, headers: Record<string, string> = {}, body?: Buffer) =>
        callAs(CLIENT, ports.proxy, { method, path, headers, body })
      await until(async () => (await call('GET', '/ready').catch(() => undefined))?.status === 200)

      const { token } = JSON.parse(
        (
          await call(
            'POST',
            '/auth/register',
            { 'content-type': 'application/json' },
            Buffer.from(JSON.stringify({ email: 'me@example.com', password: 'a long passphrase' })),
          )
        ).text,
      ) as { token: string }
      await server.until(new RegExp(`"path":"/auth/register".*"${CLIENT.replaceAll('.', '\\.')}"`))

      const multipart = {
        authorization: `Bearer ${token}`,
        'content-type': 'multipart/form-data; boundary=b',
      }
      const uploaded = await call('POST', '/store/upload', multipart, formOf(5 * MiB))
      assert.equal(uploaded.status, 201, uploaded.text)
      const { url, size } = JSON.parse(uploaded.text) as { url: string; size: number }
      assert.equal(size, 5 * MiB)
      const part = await call('GET', url, { authorization: `Bearer ${token}`, range: 'bytes=0-9' })
      assert.deepEqual([part.status, part.text], [206, '\u0007'.repeat(10)])

      const tooLarge = await call('POST', '/store/upload', multipart, formOf(51 * MiB))
      assert.match(tooLarge.text, /^\{"error":\{"code":"PAYLOAD_TOO_LARGE"/)
      assert.equal((await call('GET', '/metrics')).status, 403)
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
  return startProgram(t, ['start'], { folder, environment: { PORT: String(port) } })
}

type Answer = { status: number; text: string }
type CallOptions = { method: string; path: string; headers: Record<string, string>; body: Buffer | undefined }

/** A call from a local address of the client's own, to the proxy under its public name. */
async function callAs(
  localAddress: string,
  port: number,
  { method, path, headers, body }: CallOptions,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const sent = request(
    { host: '127.0.0.1', port, localAddress, method, path, headers: { ...headers, host: HOST } },
    (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => resolve({ status: answer.statusCode!, text: Buffer.concat(chunks).toString() }))
    },
  )
  sent.on('error', reject)
  sent.end(body)
  return promise
}
