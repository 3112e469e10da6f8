#!/usr/bin/env node
// Plain JavaScript, so that any Node can read it and say what is missing.
import { existsSync } from 'node:fs'
import * as nodeModule from 'node:module' // whole: an old Node has not all of it
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

const NEEDED = 24

/** @param {string} path */
const pathOf = (path) => fileURLToPath(new URL(path, import.meta.url))
// A checkout runs from source; the package on npm has no sources.
const isCheckout = existsSync(pathOf('../src/cli.ts'))

/** @param {string} why */
function end(why) {
  console.error(`sixwire: ${why}`)
  process.exit(1)
}

if (Number(process.versions.node.split('.')[0]) < NEEDED)
  end(
    `this is Node ${process.version}; it needs ${NEEDED} or newer` +
      (isCheckout ? ': "npm ci" without --omit=dev installs one, which "npm start" uses' : ''),
  )
if (isCheckout && !existsSync(pathOf('../node_modules/fastify')))
  end(
    'the packages of this checkout are not installed: run "npm ci" in it, without --omit=dev. To run without them, install what "npm pack" makes',
  )

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
process.env.NODE_COMPILE_CACHE ??= pathOf(
  isCheckout ? '../node_modules/.cache/compile' : '../../.cache/sixwire',
)
nodeModule.enableCompileCache(process.env.NODE_COMPILE_CACHE)

// No `await`: see src/cli.ts.
void import(isCheckout ? '../src/cli.ts' : '../dist/lib/cli.js')
