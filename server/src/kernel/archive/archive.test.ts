// An archive is read into another database as it was written, or not at all.
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'

import type { App, Config } from '../../app.ts'
import { systemClock } from '../../base/clock.ts'
import { writeTar, type NewEntry } from '../../base/tar/write-tar.ts'
import type { Migration } from '../../db/database.ts'
import { openDatabase, openTableLoader } from '../../db/open.ts'
import { sql, type Dialect } from '../../db/sql.ts'
import { readInstallation, tablesOf } from '../../installation.ts'
import { eachEngine, temporaryFolder, type Ending, type Engine } from '../../testing/engines.ts'
import { startScript, urlLiteral } from '../../testing/program.ts'
import { fill, openApplication, OWN, rowsOf } from '../move/every-table.fixture.ts'
import { defineWire } from '../wire/wire.ts'
import { FORMAT, HEADER_ENTRY } from './archive-format.ts'
import { unarchive, type Unarchived, type UnarchiveOptions } from './unarchive.ts'
import { archiveInstallation } from './write-archive.ts'

const WORK = { onProgress: () => undefined, signal: new AbortController().signal }
const SECRET = 'the secret of the installation that is archived'

async function archiveOf({ db, tablesOf: ofApp }: Pick<App, 'db' | 'tablesOf'>): Promise<Buffer> {
  const { copies } = await ofApp(db.dialect)
  const pieces: Buffer[] = []
  await archiveInstallation(
    { db, clock: systemClock, copies },
    { ...WORK, secret: SECRET, name: 'test.age' },
    async (tar) => {
      for await (const piece of tar) pieces.push(piece)
    },
  )
  return Buffer.concat(pieces)
}

async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 50_000) yield bytes.subarray(at, at + 50_000)
}

async function unarchiveInto(
  to: string,
  bytes: Buffer,
  options: Partial<UnarchiveOptions> = {},
  config: Config = {},
): Promise<Unarchived> {
  const { wires } = await readInstallation(config, {}, '.')
  return unarchive(
    {
      tablesOf: (found, dialect) => tablesOf(wires, found, dialect),
      files: { write: () => Promise.reject(new Error('there are no files')) },
    },
    inPieces(bytes),
    { ...WORK, to, checkSecret: async () => undefined, keepSecret: async () => undefined, ...options },
  )
}

describe('an archive', () => {
  const engines = {} as Record<Engine['name'], Engine>
  eachEngine((engine) => {
    engines[engine.name] = engine
    if (engine.name === 'sqlite') return
    test('from SQLite to PostgreSQL, from there to another one and back keeps a row in every table', async (t) => {
      const { sqlite, postgres } = engines
      let app = await openApplication(t, await sqlite.freshUrl())
      await fill(app.db)
      const before = await rowsOf(app.db)
      for (const to of [postgres, postgres, sqlite, sqlite]) {
        const url = await to.freshUrl()
        const kept: string[] = []
        const { stray, tables, migrations } = await unarchiveInto(url, await archiveOf(app), {
          keepSecret: async (secret) => void kept.push(secret),
        })
        assert.deepEqual([stray, migrations, kept], [[], 0, [SECRET]])
        assert.deepEqual(
          tables.filter(({ rows }) => rows === 0),
          [],
        )
        app = await openApplication(t, url)
      }
      const after = await rowsOf(app.db)
      for (const [name, rows] of Object.entries(before)) {
        if (OWN.includes(name)) continue
        // Each archive is in the audit log itself.
        const others = after[name]!.filter((row) => !row.includes("'installation.archived'"))
        assert.deepEqual({ [name]: others }, { [name]: rows })
      }
    })
  })
})

// The last migrations of the release that archives came with: what it has written is read by each later one.
const FIRST: Record<string, string> = {
  sixwire: '014-moves',
  auth: '013-imported-ids',
  messaging: '006-history',
  onchain: '005-transaction-states',
  pay: '011-events',
  store: '020-object-readers',
  notes: '001-notes',
}

/** A wire of an application whose second migration is newer than the archive. */
async function notesWire(ending: Ending): Promise<Config> {
  const folder = join(await temporaryFolder(ending), 'migrations')
  await mkdir(folder)
  await writeFile(
    join(folder, '001-notes.sql'),
    'create table notes (id text primary key, text text not null)',
  )
  await writeFile(
    join(folder, '002-lengths.sql'),
    'alter table notes add column length bigint; update notes set length = length(text)',
  )
  const notes = defineWire({
    name: 'notes',
    migrations: pathToFileURL(`${folder}/`),
    setup: () => ({ routes: [], service: undefined }),
  })
  return { wires: [notes()] }
}

async function tablesBefore(config: Config): Promise<App['tablesOf']> {
  const { wires } = await readInstallation(config, {}, '.')
  const names = ['sixwire', ...wires.map(({ name }) => name)]
  const isOld = ({ wire, name }: Migration): boolean => name <= FIRST[wire]!
  return async (dialect: Dialect) => {
    const { migrations, copies } = await tablesOf(wires, names, dialect)
    return { migrations: migrations.filter(isOld), copies }
  }
}

eachEngine((from) =>
  eachEngine((to) => {
    test(`of an earlier version, from ${from.name} to ${to.name}, is brought up to date`, async (t) => {
      const config = await notesWire(t)
      const earlier = await tablesBefore(config)
      const old = await from.freshUrl()
      const loader = await openTableLoader(old)
      await loader.migrate((await earlier(loader.dialect)).migrations)
      await loader.complete()
      await loader.commit()
      await loader.close()
      const db = await openDatabase(old)
      t.after(() => db.close())
      await db.write(sql`insert into notes values ('a', 'four')`)
      if (from.name === 'sqlite') await fill(db)
      const url = await to.freshUrl()
      const { migrations } = await unarchiveInto(url, await archiveOf({ db, tablesOf: earlier }), {}, config)
      assert.ok(migrations >= 1)
      const app = await openApplication(t, url, config)
      assert.deepEqual(await app.db.all(sql`select id, text, length from notes where id = 'a'`), [
        { id: 'a', text: 'four', length: 4 },
      ])
    })
  }),
)

eachEngine((engine) => {
  test('that is not whole, or not ours, makes no database, and says why', async (t) => {
    const archive = await archiveOf(await openApplication(t, await engine.migratedUrl()))
    const headerOf = (header: object) => sealed([[HEADER_ENTRY, JSON.stringify(header)]])
    const header = { format: FORMAT, sixwire: '9.0.0', createdAt: '', engine: 'sqlite', tables: [] }
    const url = await engine.freshUrl()
    for (const [bytes, message] of [
      [archive.subarray(0, -20), /^the archive is damaged: the archive: /],
      [
        await headerOf({ ...header, format: 'sixwire-installation-2' }),
        /of the format sixwire-installation-2, .* use Sixwire 9\.0\.0/,
      ],
      [
        await headerOf({ ...header, migrations: [{ wire: 'auth', name: '999-later', checksum: '' }] }),
        /^the archive is newer than this program: it has the migration auth\/999-later.*Use Sixwire 9\.0\.0/,
      ],
      [
        await headerOf({ ...header, migrations: [] }),
        /^the archive is damaged: manifest\.json: it is not where/,
      ],
      [
        await headerOf({ format: FORMAT }),
        /^the archive is damaged: archive\.json: it does not say what it must/,
      ],
      [
        await sealed([['notes.txt', 'hello']]),
        /^the archive is damaged: archive\.json: it is not where it must be/,
      ],
    ] as const)
      await assert.rejects(unarchiveInto(url, bytes), { message })
    const stop = new AbortController()
    const stopped = { signal: stop.signal, onProgress: () => stop.abort(new Error('enough')) }
    await assert.rejects(unarchiveInto(url, archive, stopped), { message: 'enough' })
    // So it is still empty.
    await unarchiveInto(url, archive)
    await assert.rejects(unarchiveInto(url, archive), {
      message: /holds data already: .*\. Nothing was changed$/,
    })
  })
})

/** A program that reads an archive, and kills itself at a step of it. */
const SCRIPT = `
  import { createReadStream } from 'node:fs'
  import { readInstallation, tablesOf } from ${urlLiteral('installation.ts')}
  import { unarchive } from ${urlLiteral('kernel/archive/unarchive.ts')}
  const [step, file, to] = process.argv.slice(2)
  const die = () => process.kill(process.pid, 'SIGKILL')
  const { wires } = await readInstallation({}, {}, '.')
  await unarchive(
    { tablesOf: (found, dialect) => tablesOf(wires, found, dialect), files: {} },
    createReadStream(file),
    {
      to,
      signal: new AbortController().signal,
      onProgress: ({ phase }) => { if (phase === step) die() },
      checkSecret: async () => {},
      keepSecret: async () => { if (step === 'complete') die() },
    },
  )
`

eachEngine((engine) => {
  for (const step of ['Copy', 'complete'])
    test(`that is read by a program which is killed at the step "${step}" makes no database until it is read again`, async (t) => {
      const archive = await archiveOf(await openApplication(t, await engine.migratedUrl()))
      const file = join(await temporaryFolder(t), 'archive.tar.zst')
      await writeFile(file, archive)
      const url = await engine.freshUrl()
      const program = await startScript(t, SCRIPT, {
        words: [step, file, url],
        nodeOptions: ['--conditions=sixwire-source'],
      })
      assert.equal(await program.ended, 'SIGKILL', program.errors())
      const { tables } = await unarchiveInto(url, archive)
      assert.ok(tables.length > 0)
    })
})

/** An archive with these entries, behind which there is a secret. */
async function sealed(texts: readonly (readonly [name: string, text: string])[]): Promise<Buffer> {
  async function* entries(): AsyncGenerator<NewEntry> {
    for (const [name, text] of [...texts, ['secret', SECRET] as const]) {
      const bytes = Buffer.from(text)
      yield { name, size: bytes.length, bytes: inPieces(bytes) }
    }
  }
  const pieces: Buffer[] = []
  for await (const piece of writeTar(entries(), 0)) pieces.push(piece)
  return Buffer.concat(pieces)
}
