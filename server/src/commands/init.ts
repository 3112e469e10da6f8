import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'

import { asset } from '../base/asset.ts'
import { platformVersion } from '../base/platform-version.ts'
import { StartError } from '../base/start-error.ts'
import { defineAction } from './command.ts'

const TEMPLATES = asset('commands/init/')
const PRIVATE = 0o600

/** A file of a new application. */
type TemplateFile = {
  path: string
  text: (folder: string) => Promise<string>
  mode?: number
  /** What has to be in a file that is kept; undefined if it is all right. */
  lacks?: (kept: string) => string | undefined
}

/** The file of the same name in `init`, unless another one is named. */
const template = (path: string, file = path): TemplateFile => ({ path, text: () => readTemplate(file) })

const readTemplate = (file: string): Promise<string> => readFile(new URL(file, TEMPLATES), 'utf8')

const FILES: readonly TemplateFile[] = [
  {
    path: 'package.json',
    async text(folder) {
      const manifest = JSON.parse(await readTemplate('package.template.json')) as Manifest
      const dependencies = { sixwire: `^${platformVersion()}` }
      return `${JSON.stringify({ ...manifest, name: packageName(folder), dependencies }, null, 2)}\n`
    },
    lacks(kept) {
      const { type, dependencies } = JSON.parse(kept) as Manifest
      const missing = [
        ...(type === 'module' ? [] : ['"type": "module"']),
        ...(dependencies?.['sixwire'] === undefined
          ? [`the dependency "sixwire": "^${platformVersion()}"`]
          : []),
      ]
      return missing.join(' and ') || undefined
    },
  },
  template('tsconfig.json', 'tsconfig.template.json'),
  {
    ...template('sixwire.config.ts'),
    lacks: (kept) =>
      kept.includes('notes') ? undefined : 'notes() of wires/notes/index.ts in its list of wires',
  },
  template('wires/notes/index.ts'),
  template('wires/notes/migrations/001-notes.sql'),
  template('wires/notes/notes.test.ts', 'wires/notes/notes.example.ts'),
  {
    path: '.env',
    mode: PRIVATE,
    text: async (
      folder,
    ) => `# Keep it safe: everything that is encrypted depends on it, and production requires it.
SIXWIRE_SECRET=${await secretFor(folder)}
`,
  },
  {
    ...template('.gitignore', 'gitignore'),
    lacks(kept) {
      const lines = kept.split('\n').map((line) => line.trim().replaceAll(/^\/|\/$/g, ''))
      const missing = ['node_modules', 'data', '.env'].filter((one) => !lines.includes(one))
      return missing.join(', ') || undefined
    },
  },
]

type Manifest = { type?: string; dependencies?: Record<string, string> }

export const init = defineAction({
  summary: 'Create an application: configuration, a first wire with a test, and a secret',
  words: ['[FOLDER]'],
  details: `FOLDER is the current one if it is left out, and is created if there is none. Files that are there already
stay as they are.`,
  ignoresEnvironmentFile: true,
  async run({ words: [name = '.'] }) {
    const folder = resolve(name)
    const created: string[] = []
    const remarks: string[] = []
    for (const file of FILES) {
      const kept = await write(folder, file)
      if (kept === undefined) created.push(file.path)
      else remarks.push(keptLine(file, kept))
    }
    const place = relative(process.cwd(), folder) || 'this folder'
    for (const line of [
      ...(created.length > 0 ? [`Created in ${place}: ${created.join(', ')}`] : []),
      ...remarks,
    ])
      console.log(line)
    console.log(
      `\n  ${name === '.' ? '' : `cd ${/\s/.test(name) ? `"${name}"` : name} && `}npm install\n  npm test\n  npm run dev`,
    )
    return 0
  },
})

/** Writes a file, unless there is one. @returns the text of the one that there is */
async function write(folder: string, { path, text, mode }: TemplateFile): Promise<string | undefined> {
  const file = join(folder, path)
  try {
    await mkdir(dirname(file), { recursive: true }).catch((error: unknown) => {
      throw new StartError(`${dirname(file)} can't be created: ${(error as Error).message}`)
    })
    await writeFile(file, await text(folder), { flag: 'wx', ...(mode !== undefined && { mode }) })
    return undefined
  } catch (error) {
    if (error instanceof StartError) throw error
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST') throw new StartError(`${file} can't be written: ${message}`)
    return readFile(file, 'utf8').catch(() => '')
  }
}

function keptLine({ path, lacks }: TemplateFile, kept: string): string {
  let missing: string | undefined
  try {
    missing = lacks?.(kept)
  } catch {
    missing = 'valid JSON'
  }
  return missing === undefined ? `Kept ${path}` : `Kept ${path}: it lacks ${missing}`
}

/** The secret of an installation that has run already: with another one, nothing it encrypted could be read. */
const secretFor = (folder: string): Promise<string> =>
  readFile(join(folder, 'data/secret'), 'utf8').catch(() => randomBytes(48).toString('base64'))

/** A name that npm takes, from that of the folder. */
const packageName = (folder: string): string =>
  basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z\d._~-]+/g, '-')
    .replaceAll(/^[._-]+|-+$/g, '') || 'app'
