// What the client's tests show on one engine at each run, on both: see server/src/testing/long-run.ts.
import { glob, readFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'

process.env['LONG_RUN'] = 'on'
const cwd = fileURLToPath(new URL('.', import.meta.url))
for await (const name of glob('**/*.test.ts', { cwd })) {
  const file = pathToFileURL(cwd + name)
  if ((await readFile(file, 'utf8')).includes('someEngine(')) await import(file.href)
}
