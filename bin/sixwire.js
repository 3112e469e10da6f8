#!/usr/bin/env node
// Plain JavaScript, so that any Node can read it and say what is missing.
import * as nodeModule from 'node:module' // whole: an old Node has not all of it
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

const NEEDED = 24

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

// Before the cache below is opened, because compiled code is kept for one set of flags, which threads then have too. What
// each of them does is told in docs/decisions/013-memory.md.
for (const flag of [
  '--external-memory-accounted-in-global-limit',
  '--heap-growing-percent=50',
  '--semi-space-growth-factor=1',
  '--expose-gc',
])
  setFlagsFromString(flag)

// Before anything else is loaded: a second start then neither strips types nor compiles. Threads read the variable.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url))
nodeModule.enableCompileCache(process.env.NODE_COMPILE_CACHE)

await import('../src/cli.ts')
