#!/usr/bin/env node
// Plain JavaScript, so that any Node can read it and say what is missing.
import { existsSync } from 'node:fs'
import * as nodeModule from 'node:module' // whole: an old Node has not all of it
import { fileURLToPath } from 'node:url'

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
      (isCheckout
        ? ': "npm ci" without --omit=dev installs one, which "npm start" uses'
        : ': install one from nodejs.org, or begin the command with "npx --package node@24"'),
  )
if (isCheckout && !existsSync(pathOf('../../node_modules/fastify')))
  end(
    'the packages of this checkout are not installed: run "npm ci" in it, without --omit=dev. To run without them, install what "npm pack -w server" makes',
  )

// Before anything else is loaded: a second start then neither strips types nor compiles. Threads read the variable.
process.env.NODE_COMPILE_CACHE ??= pathOf(
  isCheckout ? '../../node_modules/.cache/compile' : '../../.cache/sixwire',
)
nodeModule.enableCompileCache(process.env.NODE_COMPILE_CACHE)

// No `await`: see server/src/cli.ts.
void import(isCheckout ? '../src/cli.ts' : '../dist/lib/cli.js')
