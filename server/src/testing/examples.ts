// The examples of the documentation, run as they stand.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

import type { TestApp } from './app.ts'
import { temporaryFolder } from './engines.ts'

const run = promisify(execFile)
const root = new URL('../../../', import.meta.url)
const library = fileURLToPath(new URL('server/src/index.ts', root))

type Block = { language: string; text: string }

/** The fenced blocks of a page in some languages, in order. */
export async function pageBlocks(page: string, ...languages: string[]): Promise<Block[]> {
  const text = await readFile(new URL(page, root), 'utf8')
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)]
    .map(([, language = '', body = '']): Block => ({ language, text: body }))
    .filter(({ language }) => languages.includes(language))
}

/** The texts of those in one language. */
export async function blocksOf(page: string, language: string): Promise<string[]> {
  const found = await pageBlocks(page, language)
  assert.ok(found.length > 0, `${page} has no block of ${language}`)
  return found.map(({ text }) => text)
}

/** A folder in which `import … from 'sixwire'` means this checkout. */
export async function applicationFolder(t: TestContext, files: Record<string, string>): Promise<string> {
  const folder = await temporaryFolder(t)
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(folder, name, '..'), { recursive: true })
    await writeFile(
      join(folder, name),
      text
        .replaceAll("'sixwire'", JSON.stringify(pathToFileURL(library).href))
        .replaceAll(/'sixwire\/(client|aws-kms|smtp|twilio|stripe|paypal)'/g, (_, name: string) =>
          JSON.stringify(import.meta.resolve(`sixwire/${name}`)),
        ),
    )
  }
  return folder
}

/** Runs a block of the shell against a server, as a reader would. */
export async function shell(
  script: string,
  app: TestApp,
  environment: Record<string, string> = {},
): Promise<string> {
  const { stdout } = await run('bash', ['-euc', script.replaceAll('localhost:3000', new URL(app.url).host)], {
    env: { ...process.env, ...environment },
  })
  return stdout
}

/** Imports a module of an application. */
export const importFile = async (file: string): Promise<Record<string, unknown>> =>
  (await import(pathToFileURL(file).href)) as Record<string, unknown>
