// Each point of docs/security.md names the test that shows it.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../../..')
const SOURCES = join(ROOT, 'server/src')

// `test` itself, or what runs one on some engine.
const TEST = /\btest\w*\(\s*'([^'\n]+)'/g

const pathOf = (file: string): string =>
  [join(SOURCES, file), join(SOURCES, 'wires/auth', file)].find((path) => existsSync(path)) ?? file

test('docs/security.md names tests that exist, and a reason where there is none', () => {
  const page = readFileSync(join(ROOT, 'docs/security.md'), 'utf8')
  const points = page.split('\n').filter((line) => /^\| \d/.test(line))
  assert.ok(points.length > 40, String(points.length))
  for (const line of points) {
    const [, point, , here, shownBy] = line
      .split(' | ')
      .join('|')
      .split('|')
      .map((cell) => cell.trim())
    if (shownBy === '') {
      // By the pages of the application, by another point, or because there is no such part.
      assert.match(here!, /\*\*Open\*\*|^see |^none$|^there is none$|does not depend/, `${point}: ${line}`)
      continue
    }
    const named = /^`([\w./-]+)`: (.+)$/.exec(shownBy!)
    assert.ok(named, `${point}: ${shownBy}`)
    const [, file, name] = named
    assert.ok(
      [...readFileSync(pathOf(file!), 'utf8').matchAll(TEST)].some(([, title]) => title === name),
      `${point}: no test “${name}” in ${file}`,
    )
  }
})
