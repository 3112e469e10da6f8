import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { selfSigned } from './certificate.ts'
import { temporaryFolder, type Ending } from './engines.ts'

/** The public name under which the proxies answer. */
export const PROXY_HOST = 'api.example.com'

type Ports = { proxy: number; server: number }
type Proxy = {
  program: string
  /** In `deploy/`. */
  file: string
  /** Writes the configuration into a folder that has `cert.pem` and `key.pem`, and returns the arguments. */
  write: (folder: string, text: string, ports: Ports) => Promise<string[]>
}

const PROXIES = {
  nginx: {
    program: '/usr/sbin/nginx',
    file: 'nginx.conf',
    async write(folder, text, { proxy, server }) {
      const http = text
        .replace('listen 443 ssl', `listen 127.0.0.1:${proxy} ssl`)
        .replace('/etc/ssl/api.example.com.pem', join(folder, 'cert.pem'))
        .replace('/etc/ssl/api.example.com.key', join(folder, 'key.pem'))
        .replace('/var/cache/nginx', join(folder, 'cache'))
        .replace('127.0.0.1:3000', `127.0.0.1:${server}`)
      const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `${name}_temp_path ${folder}/${name};`)
        .join('\n')
      const file = join(folder, 'nginx.conf')
      // Else its worker may not write into this folder.
      const user = process.getuid?.() === 0 ? 'user root;' : ''
      const frame = `${user} daemon off; pid ${folder}/pid; error_log stderr; events {}\nhttp {\naccess_log off;\n${folders}\n${http}\n}`
      await writeFile(file, frame)
      return ['-e', 'stderr', '-c', file]
    },
  },
  caddy: {
    program: '/usr/bin/caddy',
    file: 'Caddyfile',
    async write(folder, text) {
      // In place of a certificate from an authority.
      const site = text.replace('{\n', `{\n\ttls ${folder}/cert.pem ${folder}/key.pem\n`)
      const file = join(folder, 'Caddyfile')
      await writeFile(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`)
      return ['run', '--config', file, '--adapter', 'caddyfile']
    },
  },
} as const satisfies Record<string, Proxy>

export type ProxyName = keyof typeof PROXIES

export const PROXY_NAMES = Object.keys(PROXIES) as ProxyName[]

/** Why a test with the proxy is skipped; false if the program is installed. */
export const withoutProxy = (name: ProxyName): string | false =>
  spawnSync(PROXIES[name].program, ['-v']).error ? `needs ${name}: apt-get install ${name}` : false

/**
 * Starts a proxy with TLS in front of a server, with its file of `deploy/`.
 *
 * @param change of the text of that file
 */
export async function startProxy(
  ending: Ending,
  name: ProxyName,
  ports: Ports,
  change: (text: string) => string = (text) => text,
): Promise<void> {
  const proxy: Proxy = PROXIES[name]
  const folder = join(await temporaryFolder(ending), name)
  await mkdir(folder)
  const { cert, key } = selfSigned()
  await Promise.all([writeFile(join(folder, 'cert.pem'), cert), writeFile(join(folder, 'key.pem'), key)])
  const text = await readFile(new URL(`../../deploy/${proxy.file}`, import.meta.url), 'utf8')
  const child = spawn(proxy.program, await proxy.write(folder, change(text), ports), {
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      // For the Caddyfile, as compose.yaml has them.
      SITE: `https://${PROXY_HOST}:${ports.proxy}`,
      UPSTREAM: `127.0.0.1:${ports.server}`,
    },
    stdio: 'ignore',
  })
  ending.after(async () => {
    if (child.exitCode === null && child.kill()) await once(child, 'exit')
  })
}
