// Compiles the contracts of the sandbox and of the tests, and writes a JSON file with ABI and bytecode beside each source.
// `--check` writes nothing, and fails if a file differs from what would be written.
//
//   node scripts/compile-contracts.ts [--check]
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import solc from 'solc'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const FOLDERS = ['sandbox/src/chains/contracts', 'server/src/testing/contracts']

type Output = {
  errors?: { severity: string; formattedMessage: string }[]
  contracts?: Record<string, Record<string, { abi: unknown[]; evm: { bytecode: { object: string } } }>>
}

const sources = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.sol'))
    .toSorted()
    .map((name) => `${folder}/${name}`),
)

/** The text of each JSON file by its path. */
function compile(): Map<string, string> {
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(
      sources.map((path) => [path, { content: readFileSync(join(ROOT, path), 'utf8') }]),
    ),
    settings: {
      optimizer: { enabled: true, runs: 200 },
      evmVersion: 'cancun',
      // Without the hash of the sources, so that a changed comment changes no bytecode.
      metadata: { appendCBOR: false, bytecodeHash: 'none' },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
    },
  }
  const run = solc.compile as (input: string) => string
  const { errors = [], contracts = {} } = JSON.parse(run(JSON.stringify(input))) as Output
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join('\n'))
  return new Map(
    sources.map((path) => {
      const name = path.replace(/^.*\/|\.sol$/g, '')
      const { abi, evm } = contracts[path]![name]!
      const items = abi.map((item) => `    ${JSON.stringify(item)}`).join(',\n')
      return [
        join(dirname(path), `${name}.json`),
        `{\n  "abi": [\n${items}\n  ],\n  "bytecode": "0x${evm.bytecode.object}"\n}\n`,
      ]
    }),
  )
}

const compiled = compile()
if (process.argv.includes('--check')) {
  const stored = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith('.json'))
      .map((name) => `${folder}/${name}`),
  )
  const differing = [...new Set([...stored, ...compiled.keys()])].filter(
    (path) => !stored.includes(path) || readFileSync(join(ROOT, path), 'utf8') !== compiled.get(path),
  )
  for (const path of differing)
    console.error(`${path} is not what its source compiles to: run node scripts/compile-contracts.ts`)
  if (differing.length > 0) process.exitCode = 1
} else for (const [path, text] of compiled) writeFileSync(join(ROOT, path), text)
