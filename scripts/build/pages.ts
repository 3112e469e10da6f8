// The pages of console/src/ and sandbox/page/ as files for a browser: `npm run build` writes them into the package, and a checkout bundles them at
// the first request of a page. Both are the same bytes.
import { createHash } from 'node:crypto'
import { glob, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import { rolldown, type OutputChunk } from 'rolldown'

const ROOT = new URL('../../', import.meta.url)
// A page is a folder with index.html, and index.tsx or more entries.
const PAGES = { console: 'console/src', sandbox: 'sandbox/page' } as const
type Page = keyof typeof PAGES
// Where a page finds its files, from its own address.
const ASSETS = { console: 'console/assets', sandbox: '{{root}}/page' }
const FIRST = ['console/src/style/tokens.css', 'console/src/style/base.css']

type PageBundle = {
  /** Pages by their names, such as `console.html`, and what they load by hashed names. */
  files: Map<string, Buffer>
  /** For the list of licences. */
  chunks: OutputChunk[]
}

async function bundleScripts(): Promise<OutputChunk[]> {
  const build = await rolldown({
    cwd: fileURLToPath(ROOT),
    input: Object.fromEntries(Object.entries(PAGES).map(([page, folder]) => [page, `${folder}/index.tsx`])),
    platform: 'browser',
    tsconfig: false,
    transform: {
      target: 'es2023',
      jsx: { runtime: 'automatic', importSource: 'preact', development: false },
    },
  })
  try {
    const { output } = await build.generate({
      format: 'esm',
      entryFileNames: '[name]-[hash].js',
      chunkFileNames: '[name]-[hash].js',
      // What all screens share is loaded with the first page; each screen and the editor are chunks of their own.
      codeSplitting: {
        groups: [
          { name: 'parts', test: /\/console\/src\/parts\/(?!editor\/)|\/node_modules\/(?:@?preact)\// },
        ],
      },
      sourcemap: true,
      minify: true,
      comments: { legal: false },
    })
    return output.filter((one) => one.type === 'chunk')
  } finally {
    await build.close()
  }
}

/** Of sheets with the same weight the later wins: those of the console, of the parts, of the sandbox. */
const byPlace = (a: string, b: string): number => (placeOf(a) < placeOf(b) ? -1 : 1)
const placeOf = (path: string): string => path.replace('console/src/parts/', 'parts/')

/** All sheets of a page in one: what all pages share first, then its own in the order of their names. */
async function bundleStyle(page: Page): Promise<string> {
  const found = await Array.fromAsync(
    glob(['console/src/{style,parts}/*.css', `${PAGES[page]}/**/*.css`], { cwd: fileURLToPath(ROOT) }),
  )
  const others = [...new Set(found)].filter((path) => !FIRST.includes(path))
  const paths = [...FIRST, ...others.toSorted(byPlace)]
  const sheets = await Promise.all(paths.map((path) => readFile(new URL(path, ROOT), 'utf8')))
  return sheets
    .join('')
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};,]) ?/g, '$1')
    .replaceAll(';}', '}')
    .trim()
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 8)

/** Bundles all pages in memory. */
export async function bundlePages(): Promise<PageBundle> {
  const chunks = await bundleScripts()
  const files = new Map<string, Buffer>()
  const add = (name: string, text: string): void => void files.set(name, Buffer.from(text))
  for (const { fileName, code, map } of chunks) {
    add(fileName, code)
    if (map) add(`${fileName}.map`, map.toString())
  }
  const icon = await readFile(new URL('console/src/style/icon.svg', ROOT), 'utf8')
  const iconName = `icon-${hashOf(icon)}.svg`
  add(iconName, icon)
  for (const page of Object.keys(PAGES) as Page[]) {
    const entry = chunks.find((one) => one.isEntry && one.name === page)!
    const css = await bundleStyle(page)
    const style = `${page}-${hashOf(css)}.css`
    add(style, css)
    const at = ASSETS[page]
    const html = await readFile(new URL(`${PAGES[page]}/index.html`, ROOT), 'utf8')
    add(
      `${page}.html`,
      html
        .replaceAll('{{icon}}', `${at}/${iconName}`)
        .replace('{{style}}', `${at}/${style}`)
        .replace('{{script}}', `${at}/${entry.fileName}`)
        .replace(
          '{{preload}}',
          entry.imports.map((name) => `<link rel="modulepreload" href="${at}/${name}" />`).join(''),
        ),
    )
  }
  return { files, chunks }
}
