// Each link of the pages to another page, a heading or a file leads somewhere.
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../..', import.meta.url))
// What a build puts into the package.
const COPY = 'server/README.md'
const LINK = /\[[^\]]*\]\(([^)\s]+)\)/g

/** As GitHub names them: https://docs.github.com/en/get-started/writing-on-github */
function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading] of withoutExamples(readFileSync(page, 'utf8')).matchAll(/^#+ (.+)$/gm)) {
    const name = heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-')
    let anchor = name
    for (let more = 1; anchors.has(anchor); more++) anchor = `${name}-${more}`
    anchors.add(anchor)
  }
  return anchors
}

const withoutExamples = (text: string): string => text.replaceAll(/^ *```[^]*?^ *```/gm, '')

/** The links of a page that lead nowhere. */
function deadLinks(page: string, text: string): string[] {
  return [...withoutExamples(text).matchAll(LINK)].flatMap(([, link]) => {
    if (/^[a-z]+:/.test(link!)) return []
    const [path, anchor] = decodeURI(link!).split('#', 2) as [string, string?]
    const file = path === '' ? page : join(dirname(page), path)
    const isThere = existsSync(file) && (anchor === undefined || anchorsOf(file).has(anchor))
    return isThere ? [] : [`${relative(root, page)}: ${link}`]
  })
}

test('each link of a page leads to a file or a heading', () => {
  const pages = globSync('**/*.md', { cwd: root, exclude: ['**/node_modules/**', '**/.*/**', COPY] })
  assert.ok(pages.length > 50, String(pages.length))
  const dead = pages
    .map((page) => join(root, page))
    .flatMap((page) => deadLinks(page, readFileSync(page, 'utf8')))
  assert.deepEqual(dead, [])
})

test('a link to no file or heading would be found', () => {
  const page = join(root, 'README.md')
  const text =
    '[a](docs/none.md) [b](#no-heading) [c](docs/auth.md#sessions-and-tokens) [d](https://example.com)'
  assert.deepEqual(deadLinks(page, text), ['README.md: docs/none.md', 'README.md: #no-heading'])
})
