import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { getPriority, setPriority } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { temporaryFolder } from '../testing/engines.ts'
import { startProgram } from '../testing/program.ts'

/** A start without stand-ins takes half the time. */
const SOON = { SIXWIRE_SANDBOX: 'off' }

/** The names of a process's threads with their niceness, the 19th field of proc_pid_stat(5). */
function nicenessOfThreads(pid: number): [name: string, niceness: number][] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
    const end = stat.lastIndexOf(')')
    return [stat.slice(stat.indexOf('(') + 1, end), Number(stat.slice(end + 2).split(' ')[16])]
  })
}

/** Makes the server scan, because a thread that scans starts with the first scan. */
async function scan(url: string): Promise<void> {
  const json = { 'content-type': 'application/json' }
  const account = { email: 'thread@example.com', password: 'correct horse battery staple' }
  const registered = await fetch(`${url}/auth/register`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify(account),
  })
  const { token } = (await registered.json()) as { token: string }
  const headers = { ...json, authorization: `Bearer ${token}` }
  const created = await fetch(`${url}/store/things`, { method: 'POST', headers, body: '{"n":1}' })
  assert.equal(created.status, 201)
  const filter = encodeURIComponent('{"n":{"$gt":0}}')
  assert.equal((await fetch(`${url}/store/things?filter=${filter}`, { headers })).status, 200)
}

// For a system in which it is forbidden, as under a filter of system calls.
const FORBIDDEN = `
import os from 'node:os'
import { syncBuiltinESMExports } from 'node:module'
os.setPriority = () => { throw Object.assign(new Error('A system error occurred'), { code: 'EACCES' }) }
syncBuiltinESMExports()
`

describe(
  'the event loop goes before the threads that hash passwords and scan',
  { skip: process.platform !== 'linux' && 'threads have no priority of their own here' },
  () => {
    test('where that is forbidden, the server runs without', async (t) => {
      const folder = await temporaryFolder(t)
      const preload = join(folder, 'forbidden.mjs')
      await writeFile(preload, FORBIDDEN)
      const program = startProgram(t, ['start'], {
        folder,
        environment: { ...SOON, NODE_OPTIONS: `--import=${preload}` },
      })
      const url = await program.url()
      assert.equal((await fetch(`${url}/ready`)).status, 200)
      program.signal('SIGTERM')
      assert.equal(await program.ended, 0)
      assert.equal(program.errors(), '')
    })

    // Last: a program begins with the niceness of its parent, and not every user may lower that again.
    for (const own of new Set([getPriority(), Math.max(10, getPriority())]))
      test(`in a program of niceness ${own}`, async (t) => {
        setPriority(own)
        const program = startProgram(t, ['start'], { folder: await temporaryFolder(t), environment: SOON })
        await scan(await program.url())
        const threads = nicenessOfThreads(program.pid)
        const named = (name: string) => threads.filter(([one]) => one.startsWith(name))
        const [pool, workers] = [named('libuv-worker'), named('WorkerThread')]
        assert.ok(pool.length >= 2, `of ${threads.length} threads ${pool.length} are in the pool`)
        for (const [, niceness] of pool) assert.equal(niceness, Math.min(19, own + 10))
        // Of the workers, those that scan.
        const behind = workers.filter(([, niceness]) => niceness === Math.min(19, own + 15))
        assert.ok(behind.length >= 1 && behind.length < workers.length, String(workers))
        for (const one of threads)
          if (!pool.includes(one) && !behind.includes(one)) assert.equal(one[1], own, one[0])
      })
  },
)
