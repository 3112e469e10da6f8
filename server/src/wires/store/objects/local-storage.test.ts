import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'

import { newId } from '../../../base/ids.ts'
import { endOfSuite, temporaryFolder, type Ending } from '../../../testing/engines.ts'
import { urlLiteral } from '../../../testing/program.ts'
import { createLocalStorage } from './local-storage.ts'
import { describeStorage, inPieces, isUnavailable, readAll } from './storage-conformance.fixture.ts'
import type { ObjectStorage } from './storage.ts'

const run = promisify(execFile)

/** The names of all files in a folder and in the folders of it. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}

describe('a folder', async () => {
  const folder = join(await temporaryFolder(endOfSuite()), 'data/uploads')
  const storage = createLocalStorage({ folder, isSharded: true })
  describeStorage('a folder', {
    open: () => storage,
    partsOf: async (key) => (await filesIn(folder)).filter((name) => name === `.${key}.part`).length,
  })
})

async function openFolder(t: Ending): Promise<{ folder: string; storage: ObjectStorage }> {
  const folder = join(await temporaryFolder(t), 'uploads')
  return { folder, storage: createLocalStorage({ folder, isSharded: true }) }
}

test('files and folders are readable by the server’s user alone', async (t) => {
  const { folder, storage } = await openFolder(t)
  const key = newId()
  await storage.write(key, inPieces(randomBytes(10)))
  const path = join(folder, key.slice(-2), key)
  const modes = await Promise.all([path, dirname(path), folder].map(async (one) => (await stat(one)).mode))
  assert.deepEqual(
    modes.map((mode) => (mode & 0o777).toString(8)),
    ['600', '700', '700'],
  )
})

test('a key that would lead elsewhere is refused', async (t) => {
  const { folder, storage } = await openFolder(t)
  await writeFile(join(dirname(folder), 'secret'), 'x')
  for (const key of [
    '../secret',
    'a/../../secret',
    '..',
    'a..',
    '.a',
    'a.',
    '',
    'A',
    'a/b',
    'a\0b',
    'é',
    '-a',
  ])
    for (const use of [() => storage.read(key), () => storage.write(key, inPieces(Buffer.from('x')))])
      await assert.rejects(use, TypeError, key)
  await assert.rejects(storage.remove('../secret'), TypeError)
  assert.deepEqual(await readdir(dirname(folder)), ['secret'])
})

test('a list has the parts of unfinished writes, and nothing that is not of Sixwire', async (t) => {
  const { folder, storage } = await openFolder(t)
  const listed = async () => (await Array.fromAsync(storage.list())).flat()
  assert.deepEqual(await listed(), [], 'there is no folder yet')
  const [key, cut] = [newId(), newId()]
  await storage.write(key, inPieces(randomBytes(10)))
  await mkdir(join(folder, cut.slice(-2)), { recursive: true })
  await mkdir(join(folder, 'lost+found'))
  for (const name of [
    `${cut.slice(-2)}/.${cut}.part`,
    `${cut.slice(-2)}/.DS_Store`,
    `lost+found/${cut}`,
    '.probe',
    cut,
    'zz',
  ])
    await writeFile(join(folder, name), 'cut')
  const found = (await listed()).map(({ modifiedAt: _, ...one }) => one)
  assert.deepEqual(
    found.toSorted((a, b) => b.size - a.size),
    [
      { key, size: 10, isPart: false },
      { key: cut, size: 3, isPart: true },
    ],
  )
  assert.equal((await storage.stat(cut))!.isPart, true)
  await storage.remove(cut)
  assert.equal(await storage.stat(cut), undefined)
  await rm(folder, { recursive: true })
  await assert.rejects(storage.stat(key), (error) => isUnavailable(error, /ENOENT/))
})

test('a folder that vanishes is not created again, and works when it is back', async (t) => {
  const { folder, storage } = await openFolder(t)
  const key = newId()
  await storage.write(key, inPieces(randomBytes(10)))
  await storage.ping()
  await rename(folder, `${folder}-away`)
  const isGone = (error: unknown): boolean => isUnavailable(error, /ENOENT/)
  await assert.rejects(storage.read(key), isGone)
  await assert.rejects(storage.write(newId(), inPieces(randomBytes(10))), isGone)
  await assert.rejects(storage.remove(key), isGone)
  await assert.rejects(
    createLocalStorage({ folder: join(`${folder}-away`, key.slice(-2), key), isSharded: true }).ping(),
    /nothing can be stored in .*: ENOTDIR|EEXIST/,
  )
  assert.deepEqual(await readdir(dirname(folder)), ['uploads-away'])
  await rename(`${folder}-away`, folder)
  assert.equal((await readAll(storage, key)).length, 10)
  await storage.remove(key)
  assert.deepEqual(await filesIn(folder), [])
})

test('a folder that vanishes while bytes arrive', async (t) => {
  const { folder, storage } = await openFolder(t)
  const bytes = (async function* () {
    yield* inPieces(randomBytes(2_000_000))
    await rm(folder, { recursive: true })
    await mkdir(folder)
    yield* inPieces(randomBytes(2_000_000))
  })()
  await assert.rejects(storage.write(newId(), bytes), (error) => isUnavailable(error, /ENOENT/))
  assert.deepEqual(await filesIn(folder), [])
})

/** A program that writes an object of 3 MB to the folder, then one of 10 bytes, and prints what became of them. */
const SCRIPT = `
  import { readdirSync, readFileSync } from 'node:fs'
  import { createLocalStorage } from ${urlLiteral('wires/store/objects/local-storage.ts')}
  const folder = process.argv[2]
  const storage = createLocalStorage({ folder, isSharded: true })
  const told = (error) => [error.code, error.status, error.message, error.cause?.code].join(' ')
  async function* bytes(size) {
    for (let at = 0; at < size; at += 100_000) yield Buffer.alloc(Math.min(100_000, size - at), 1)
  }
  const write = (key, size) => storage.write(key, bytes(size)).then(() => 'stored', told)
  const results = [await write('large', 3_000_000), await write('small', 10)]
  const ping = await storage.ping().then(() => 'ok', (error) => error.message.replace(folder, 'the folder'))
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
  console.log(JSON.stringify({ results, ping, names: names.map(({ name }) => name) }))
`

/** Runs the script by a shell that has prepared what it writes to; `$1` is the folder. */
async function runScript(t: Ending, program: string, words: readonly string[], preparation: string) {
  const folder = await temporaryFolder(t)
  const script = join(folder, 'script.mjs')
  await writeFile(script, SCRIPT)
  await mkdir(join(folder, 'uploads'))
  const { stdout } = await run(program, [
    ...words,
    '-c',
    `set -e; ${preparation}; exec "$0" "$2" "$1"`,
    process.execPath,
    join(folder, 'uploads'),
    script,
  ])
  return JSON.parse(stdout) as { results: string[]; ping: string; names: string[] }
}

test('a file larger than the system allows is a full storage, and leaves nothing', async (t) => {
  const { results, names } = await runScript(t, 'sh', [], 'ulimit -f 2000')
  assert.deepEqual(results, [
    'STORAGE_FULL 507 The storage is full: nothing was stored. Reads go on. EFBIG',
    'stored',
  ])
  assert.deepEqual(names, ['small'])
})

const NAMESPACE = ['-rm', 'sh']

describe('on a disk of its own', async () => {
  // Where the folder for temporary files is itself a mount, some systems allow none in it.
  const tried = await mkdtemp(join(tmpdir(), 'sixwire-mount-'))
  const canMount = await run('unshare', [...NAMESPACE, '-c', 'mount -t tmpfs none "$0"', tried]).then(
    () => true,
    () => false,
  )
  await rm(tried, { recursive: true })
  const skip = canMount ? false : 'this user may not mount a file system there in a namespace of its own'

  test('a full disk leaves nothing, and what fits is stored still', { skip }, async (t) => {
    const result = await runScript(t, 'unshare', NAMESPACE, 'mount -t tmpfs -o size=2m none "$1"')
    assert.deepEqual(result, {
      results: ['STORAGE_FULL 507 The storage is full: nothing was stored. Reads go on. ENOSPC', 'stored'],
      ping: 'nothing can be stored in the folder: the disk is full',
      names: ['small'],
    })
  })

  test('a disk that has become read-only', { skip }, async (t) => {
    const preparation = 'mount -t tmpfs none "$1"; mount -o remount,ro "$1"'
    const { results, ping, names } = await runScript(t, 'unshare', NAMESPACE, preparation)
    const refused = 'STORAGE_READ_ONLY 503 The storage is read-only: nothing was stored. Reads go on. EROFS'
    assert.deepEqual(results, [refused, refused])
    assert.match(ping, /^nothing can be stored in the folder: .*EROFS/)
    assert.deepEqual(names, [])
  })
})
