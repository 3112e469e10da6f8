// What `.long.ts` files of a folder import: its tests that take one engine at each run, on both.
import { existsSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Runs the test files of a folder that take one engine of both, as long as they have no long run of their own.
 *
 * @param pattern of the names of the files
 */
export async function runOnBothEngines(
  folder: string,
  pattern: string | string[] = '**/*.test.ts',
): Promise<void> {
  process.env['LONG_RUN'] = 'on'
  for await (const name of glob(pattern, { cwd: folder })) {
    const file = join(folder, name)
    if (existsSync(file.replace(/\.test\.ts$/, '.long.ts'))) continue
    if (/\b(?:someEngine|testOnOne)\(/.test(await readFile(file, 'utf8')))
      await import(pathToFileURL(file).href)
  }
}
