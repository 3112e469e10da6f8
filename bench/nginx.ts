import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { freePort } from '../server/src/testing/free-port.ts'
import type { Bench, Server } from './bench.ts'
import { startListener } from './process.ts'

/** One worker that sends files of a folder by `sendfile`, and writes a line for each answer, as Sixwire does. */
const configOf = (port: number, folder: string): string => `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 1024; }
http {
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000000;
  access_log ${folder}/access.log combined buffer=64k flush=1s;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((one) => `${one}_temp_path ${folder}/temp;`).join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    root ${folder}/files;
    add_header cache-control "public, max-age=31536000, immutable";
  }
}
`

/** Starts nginx on the given files. It stops after the scenario. */
export async function openNginx(bench: Bench, files: Readonly<Record<string, Uint8Array>>): Promise<Server> {
  if (spawnSync('nginx', ['-v']).error) throw new Error('the peer is nginx: install it (apt install nginx)')
  const folder = join(bench.folder, 'nginx')
  mkdirSync(join(folder, 'files'), { recursive: true })
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, 'files', name), bytes)
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const config = join(folder, 'nginx.conf')
  writeFileSync(config, configOf(port, folder))
  const [first] = Object.keys(files)
  const listener = await startListener(
    ['-p', folder, '-c', config],
    { cwd: folder, env: { PATH: process.env['PATH'] }, log: join(folder, 'log'), program: 'nginx' },
    async () => (await fetch(`${base}/${first}`)).status === 200,
  )
  bench.after(() => listener.stop())
  return { ...listener, base, databaseUrl: '', token: '' }
}
