import { mkdir, writeFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'

import type { App } from '../app.ts'
import { ApiError } from '../base/errors.ts'
import { COMMAND_LINE } from '../http/actor.ts'
import type { CollectionDeclaration } from '../wires/store/index.ts'
import { defineAction, type CommandGroup } from './command.ts'
import { definitionFile, readDefinitions, type Definitions } from './definition-files.ts'
import { JSON_OPTION } from './option.ts'
import { plural, print } from './print.ts'
import { withApp } from './with-app.ts'

/** A collection whose file has another definition than the database; undefined where there is none. */
type Difference = {
  name: string
  stored: CollectionDeclaration | undefined
  file: CollectionDeclaration | undefined
}

const DELETE_OPTION = {
  delete: { description: 'remove the definitions of which there is no file; documents stay' },
}

export const collections: CommandGroup = {
  summary: 'Take definitions of collections into files, and put those of files into force',
  actions: {
    pull: defineAction({
      summary: 'Write each definition that is stored in the database into a file',
      words: ['DIR'],
      run: ({ words: [folder] }) => withoutStart((app) => pull(app, folder)),
    }),
    diff: defineAction({
      summary: 'Show how the files differ from the database; exits with 1 if they do',
      words: ['DIR'],
      options: JSON_OPTION,
      async run({ words: [folder], options: { json } }) {
        const found = await withoutStart((app) => differences(app, folder))
        print(json, found, () => textOf(found) || 'There is no difference.')
        return found.length > 0 ? 1 : 0
      },
    }),
    push: defineAction({
      summary: 'Put the definitions of the files into force, which a running server does',
      words: ['DIR'],
      options: {
        yes: { description: 'do it; without this option the differences are shown only' },
        ...DELETE_OPTION,
      },
      run: ({ words: [folder], options }) => withoutStart((app) => push(app, folder, options)),
    }),
  },
  details: `A file is named by its collection, DIR/books.json, and has what store.collections of the configuration has
for it. Collections of the configuration are not among them.`,
}

/** A start would drop the indexes of a version that is being built. */
const withoutStart = <T>(work: (app: App) => Promise<T>): Promise<T> => withApp(work, { isStarted: false })

const storedDefinitions = async (app: App): Promise<Definitions> =>
  new Map(
    (await app.service('store').definitions.list()).map(({ collection, definition }) => [
      collection,
      definition,
    ]),
  )

async function pull(app: App, folder: string): Promise<number> {
  const stored = await storedDefinitions(app)
  await mkdir(folder, { recursive: true })
  for (const [name, definition] of stored)
    await writeFile(definitionFile(folder, name), `${JSON.stringify(definition, null, 2)}\n`)
  console.log(`${plural(stored.size, 'definition')} in ${folder}`)
  for (const name of (await readDefinitions(folder)).keys())
    if (!stored.has(name)) console.log(`${definitionFile(folder, name)}: the database has no such definition`)
  return 0
}

async function differences(app: App, folder: string): Promise<Difference[]> {
  const [files, stored] = [await readDefinitions(folder), await storedDefinitions(app)]
  return [...new Set([...files.keys(), ...stored.keys()])]
    .toSorted()
    .map((name) => ({ name, stored: stored.get(name), file: files.get(name) }))
    .filter((one) => !isDeepStrictEqual(one.stored, one.file))
}

const textOf = (found: readonly Difference[]): string => found.flatMap(linesOf).join('\n')

/** The options that differ, each in a line. */
function linesOf({ name, stored = {}, file = {} }: Difference): string[] {
  const options = [
    ...new Set([...Object.keys(stored), ...Object.keys(file)]),
  ] as (keyof CollectionDeclaration)[]
  const line = (mark: string, of: CollectionDeclaration, option: keyof CollectionDeclaration): string[] =>
    of[option] === undefined ? [] : [`  ${mark} ${option}: ${JSON.stringify(of[option])}`]
  return [
    name,
    ...options
      .filter((option) => !isDeepStrictEqual(stored[option], file[option]))
      .flatMap((option) => [...line('-', stored, option), ...line('+', file, option)]),
  ]
}

async function push(
  app: App,
  folder: string,
  { yes, delete: deletes }: { yes: boolean; delete: boolean },
): Promise<number> {
  const found = (await differences(app, folder)).filter(({ file }) => file !== undefined || deletes)
  if (found.length === 0) {
    console.log('There is no difference.')
    return 0
  }
  console.log(textOf(found))
  if (!yes) {
    console.log(`\n${plural(found.length, 'definition')} would change: --yes puts them into force`)
    return 1
  }
  return (await pushAll(app, found)) ? 0 : 1
}

/** All of them, or none: their relations may lead to each other. */
async function pushAll(app: App, found: readonly Difference[]): Promise<boolean> {
  const changes = found.map(({ name, file }) => ({ name, definition: file ?? null, at: `${name}: ` }))
  try {
    const pushed = await app.service('store').definitions.define(changes, COMMAND_LINE)
    for (const { name, state, report } of pushed)
      if (state !== 'refused')
        console.log(
          `${name}: ${state === 'active' ? 'in force' : 'waits until a server that runs has checked it'}`,
        )
      else if (report?.causedBy === undefined) console.error(`${name}: refused: ${report?.reason}`)
    if (pushed.every(({ state }) => state !== 'refused')) return true
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    console.error(error.message)
  }
  console.error('No definition has changed.')
  return false
}
