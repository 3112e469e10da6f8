// Fails if two files, tests and their fixtures aside, export a type, interface or class of the same name: one name means one thing.

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const DECLARATION = /^export (?:declare )?(?:abstract )?(?:type|interface|class) (\w+)/gm
const ROOT = fileURLToPath(new URL('..', import.meta.url))
export const SOURCES = '{server/src,client/src,console/src,sandbox/src,sandbox/page}/**/*.{ts,tsx}'
const TESTS = /\.(test|fixture|long)\.ts$/

/** The names that more than one file of a directory exports, with these files. @param pattern of the files that count */
export function repeatedTypes(
  directory: string,
  pattern = '**/*.{ts,tsx}',
): [name: string, files: string[]][] {
  const files = globSync(pattern, { cwd: directory }).filter((file) => !TESTS.test(file))
  const declarations = files.toSorted().flatMap((file) =>
    Array.from(readFileSync(join(directory, file), 'utf8').matchAll(DECLARATION), ([, name]) => ({
      name: name!,
      file,
    })),
  )
  return [...Map.groupBy(declarations, ({ name }) => name)]
    .filter(([, all]) => all.length > 1)
    .map(([name, all]) => [name, all.map(({ file }) => file)])
}

if (import.meta.main)
  for (const [name, files] of repeatedTypes(ROOT, SOURCES)) {
    console.error(`${name} is exported by ${files.join(', ')}`)
    process.exitCode = 1
  }
