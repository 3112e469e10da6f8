#!/usr/bin/env node
// Plain JavaScript, so that any Node can read it and say what is missing.
import * as nodeModule from 'node:module' // whole: an old Node has not all of it
import { fileURLToPath } from 'node:url'

const NEEDED = 24
// Without these V8 lets garbage pile up to what a machine of many gigabytes allows; see docs/decisions/013-memory.md.
const FLAGS = ['--max-semi-space-size=4', '--expose-gc']

if (Number(process.versions.node.split('.')[0]) < NEEDED) {
  console.error(
    `sixwire: this is Node ${process.version}; it needs ${NEEDED} or newer ("npm start" uses the one that npm installed)`,
  )
  process.exit(1)
}

if (import.meta.url.includes('/node_modules/')) {
  console.error(
    'sixwire: this is a copy under node_modules, where Node does not run TypeScript: link the checkout instead, "npm install ../path/to/sixwire"',
  )
  process.exit(1)
}

// Before anything else is loaded: a second start then neither strips types nor compiles. Threads read the variable.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url))
nodeModule.enableCompileCache(process.env.NODE_COMPILE_CACHE)

const [command] = process.argv.slice(2)
const wanted = FLAGS.filter((flag) => !process.execArgv.some((given) => given.startsWith(flag.split('=')[0])))
// The same process goes on as the same program with the flags; not on Windows, which has no such call,
// nor with a channel to a parent, as under "sixwire dev", which it would lose.
if (command === 'start' && wanted.length > 0 && process.platform !== 'win32' && !process.connected)
  process.execve(
    process.execPath,
    [process.execPath, ...wanted, ...process.execArgv, ...process.argv.slice(1)],
    {
      // glibc keeps freed memory for each thread apart; two pools are enough for the few threads there are.
      MALLOC_ARENA_MAX: '2',
      ...process.env,
    },
  )

await import('../src/cli.ts')
