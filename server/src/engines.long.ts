// What the tests of these folders show on one engine at each run, on both: see server/src/testing/long-run.ts.
import { existsSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'

process.env['LONG_RUN'] = 'on'
const cwd = fileURLToPath(new URL('.', import.meta.url))
for await (const name of glob(['*.test.ts', '{commands,http,kernel,wires}/**/*.test.ts'], { cwd })) {
  // Some have a long run of their own.
  if (existsSync(cwd + name.replace(/\.test\.ts$/, '.long.ts'))) continue
  const file = pathToFileURL(cwd + name)
  if ((await readFile(file, 'utf8')).includes('someEngine(')) await import(file.href)
}
