// Fails if the imports of the four workspaces go up: the floors of each folder are drawn in CONTRIBUTING.md, and no two
// rooms (folders and files that lie side by side) import each other, directly or by way of others.

import { globSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const SOURCES = '{client/src,console/src,sandbox/src,sandbox/page,server/src}/**/*.{ts,tsx}'
const TESTS = /\.(test|long|fixture|property|example)s?\.tsx?$|^server\/src\/(testing|e2e)\//
const WIRES = 'server/src/wires'
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+\.tsx?)'/g

type Import = { from: string; to: string }
/** The floors of one folder, the lowest first. The rooms of one floor do not import each other. */
type Floors = { folder: string; floors: string[][] }

/** The files of a directory that are no tests, by their paths in it. */
const filesOf = (directory: string): string[] =>
  globSync(SOURCES, { cwd: directory })
    .filter((file) => !TESTS.test(file))
    .toSorted()

/** What they import of each other. */
const importsOf = (directory: string): Import[] =>
  filesOf(directory).flatMap((from) =>
    Array.from(readFileSync(join(directory, from), 'utf8').matchAll(IMPORT), ([, specifier]) => ({
      from,
      to: posix.join(dirname(from), specifier!),
    })),
  )

/** The floors that the blocks marked `floors` of a text draw: a folder, then its rooms indented, the highest first. */
function drawnFloors(text: string): Floors[] {
  const drawn: Floors[] = []
  for (const [, block] of text.matchAll(/^```floors\n(.*?)^```/gms))
    for (const line of block!.split('\n')) {
      const rooms = /^ {2}(\S+(?: \S+)*)/.exec(line)?.[1]!.split(' ')
      if (rooms) drawn.at(-1)!.floors.unshift(rooms.map((room) => room.replace(/\/$/, '')))
      else if (line.trim()) drawn.push({ folder: line.trim().split(' ')[0]!, floors: [] })
    }
  return drawn
}

/** The room of a folder in which a file lies: the name of a folder or a file in it. */
const roomIn = (folder: string, file: string): string | undefined =>
  folder === '.'
    ? file.split('/')[0]
    : file.startsWith(`${folder}/`)
      ? file.slice(folder.length + 1).split('/')[0]
      : undefined

/** The rooms that a drawing lacks, and those that it has and the folder does not, a line each. */
function undrawn(files: readonly string[], { folder, floors }: Floors): string[] {
  const rooms = new Set(files.flatMap((file) => roomIn(folder, file) ?? []))
  const drawn = new Set(floors.flat())
  return [
    ...[...rooms.difference(drawn)].map(
      (room) => `${posix.join(folder, room)} has no floor: add it to the map in CONTRIBUTING.md`,
    ),
    ...[...drawn.difference(rooms)].map(
      (room) => `${posix.join(folder, room)} is in the map of CONTRIBUTING.md, but does not exist`,
    ),
  ]
}

/** The imports of a folder that do not go down, a line each. */
function arrowsUp(imports: readonly Import[], { folder, floors }: Floors): string[] {
  const floorOf = new Map(floors.flatMap((rooms, floor) => rooms.map((room) => [room, floor] as const)))
  return imports.flatMap(({ from, to }) => {
    const [upper, lower] = [roomIn(folder, from), roomIn(folder, to)]
    if (upper === undefined || lower === undefined || upper === lower) return []
    const goesDown = (floorOf.get(lower) ?? Infinity) < (floorOf.get(upper) ?? Infinity)
    return goesDown
      ? []
      : [`${from} imports ${to}: ${lower} is not below ${upper} in ${folder}, see CONTRIBUTING.md`]
  })
}

/** The imports of a wire that pass by the `index.ts` of another one. */
const pastIndex = (imports: readonly Import[]): string[] =>
  imports.flatMap(({ from, to }) => {
    const [wire, other] = [roomIn(WIRES, from), roomIn(WIRES, to)]
    const isAllowed = !wire || !other || wire === other || to === `${WIRES}/${other}/index.ts`
    return isAllowed
      ? []
      : [`${from} imports ${to}: import the index.ts of another wire, and nothing else of it`]
  })

/** The circles among the rooms of each folder: an import of each step around. */
function circles(imports: readonly Import[]): string[] {
  const folders = new Set(imports.flatMap(({ from }) => ancestors(from)))
  return [...folders].flatMap((folder) => {
    const arrows = new Map<string, Map<string, Import>>()
    for (const one of imports) {
      const [from, to] = [roomIn(folder, one.from), roomIn(folder, one.to)]
      if (from === undefined || to === undefined || from === to) continue
      arrows.set(from, (arrows.get(from) ?? new Map<string, Import>()).set(to, one))
    }
    return stronglyConnected(arrows).map(
      (rooms) =>
        `${folder}: ${rooms.join(', ')} import each other in a circle\n` +
        rooms
          .flatMap((room) => [...(arrows.get(room) ?? [])].filter(([to]) => rooms.includes(to)))
          .map(([, { from, to }]) => `  ${from} imports ${to}`)
          .join('\n'),
    )
  })
}

const ancestors = (file: string): string[] => {
  const folder = dirname(file)
  return folder === '.' ? ['.'] : [folder, ...ancestors(folder)]
}

/** The sets of more than one node of a graph in which each reaches each: Tarjan's algorithm. */
function stronglyConnected(arrows: ReadonlyMap<string, ReadonlyMap<string, unknown>>): string[][] {
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const sets: string[][] = []
  const visit = (node: string) => {
    order.set(node, order.size)
    low.set(node, order.get(node)!)
    stack.push(node)
    for (const next of arrows.get(node)?.keys() ?? []) {
      if (!order.has(next)) visit(next)
      if (stack.includes(next)) low.set(node, Math.min(low.get(node)!, low.get(next)!))
    }
    if (low.get(node) !== order.get(node)) return
    const set = stack.splice(stack.indexOf(node))
    if (set.length > 1) sets.push(set.toSorted())
  }
  for (const node of arrows.keys()) if (!order.has(node)) visit(node)
  return sets
}

if (import.meta.main) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const [files, imports] = [filesOf(root), importsOf(root)]
  const drawn = drawnFloors(readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8'))
  const faults = [
    ...drawn.flatMap((floors) => [...undrawn(files, floors), ...arrowsUp(imports, floors)]),
    ...pastIndex(imports),
    ...circles(imports),
  ]
  for (const fault of faults) console.error(fault)
  if (faults.length > 0) process.exitCode = 1
}
