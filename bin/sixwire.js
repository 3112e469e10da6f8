#!/usr/bin/env node
// Plain JavaScript, so that any Node can read it and say what is missing.
import { enableCompileCache } from 'node:module'

const NEEDED = 24
if (Number(process.versions.node.split('.')[0]) < NEEDED) {
  console.error(`sixwire: this is Node ${process.version}; it needs ${NEEDED} or newer ("npm start" uses the one that npm installed)`)
  process.exit(1)
}
// Before anything else is loaded: a second start then neither strips types nor compiles, which halves time and memory.
enableCompileCache()
await import('../src/cli.ts')
