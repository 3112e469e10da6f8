import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

import { temporaryFolder } from '../testing/engines.ts'
import { startProgram } from '../testing/program.ts'

/** The names of a process's threads with their niceness, the 19th field of proc_pid_stat(5). */
function nicenessOfThreads(pid: number): [name: string, niceness: number][] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
    const end = stat.lastIndexOf(')')
    return [stat.slice(stat.indexOf('(') + 1, end), Number(stat.slice(end + 2).split(' ')[16])]
  })
}

test(
  'the event loop goes before the threads that hash passwords',
  { skip: process.platform !== 'linux' && 'threads have no priority of their own here' },
  async (t) => {
    const program = startProgram(t, ['start'], { folder: await temporaryFolder(t) })
    await program.url()
    const threads = nicenessOfThreads(program.pid)
    const pool = threads.filter(([name]) => name.startsWith('libuv-worker'))
    assert.ok(pool.length >= 2, `of ${threads.length} threads ${pool.length} are in the pool`)
    for (const [, niceness] of pool) assert.equal(niceness, 10)
    for (const [name, niceness] of threads)
      if (!name.startsWith('libuv-worker')) assert.equal(niceness, 0, name)
  },
)
