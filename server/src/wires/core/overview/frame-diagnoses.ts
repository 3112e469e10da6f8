import { stat, statfs } from 'node:fs/promises'

import type { Clock } from '../../../base/clock.ts'
import type { Database } from '../../../db/database.ts'
import { sqliteFileOf } from '../../../db/open.ts'
import { sql } from '../../../db/sql.ts'
import type { Settings } from '../../../kernel/config/config.ts'
import { fault, findingIf, warning, type Diagnosis } from '../../../kernel/wire/diagnosis.ts'
import { FAILED } from '../jobs/job-list.ts'
import { findNextSecret } from '../../../kernel/secret/secret.ts'

const DAY_MS = 86_400_000
const MB = 1_048_576
const GB = 1024 * MB
const DISK_WARNING_BYTES = 2 * GB
const DISK_FAULT_BYTES = 200 * MB
// SQLite writes it anew from 4 MB on: it grows only while a reader or a backup keeps it from that.
const WAL_WARNING_BYTES = 256 * MB
const CLOCK_WARNING_MS = 2_000
// Tokens and leases tolerate no more.
const CLOCK_FAULT_MS = 10_000

const size = (bytes: number): string =>
  bytes >= GB ? `${(bytes / GB).toFixed(1)} GB` : `${Math.round(bytes / MB)} MB`

/** The checks of the frame. */
export function frameDiagnoses(
  { db, clock, settings }: { db: Database; clock: Clock; settings: Settings },
  warnings: readonly string[],
): Diagnosis[] {
  const file = sqliteFileOf(settings.databaseUrl)
  return [
    {
      name: 'configuration',
      about: 'settings that can work and are likely to be a mistake, as a start warns of them',
      opens: { title: 'Show the settings', at: 'settings' },
      find: async () => warnings.map((line) => warning(line, '')),
    },
    {
      name: 'public address',
      about: 'whether PUBLIC_URL is set where several servers run',
      opens: { title: 'Show the settings', at: 'settings' },
      async find() {
        const row = await db.get<{ count: number }>(sql`select count(*) as count from sixwire_processes`)
        const count = row!.count
        return findingIf(count > 1 && !settings.hasPublicUrl, () =>
          warning(
            `${count} servers run on this database, and PUBLIC_URL is not set: each makes links and callbacks of its own address`,
            'set PUBLIC_URL to the address of the proxy in front of them, the same on each',
          ),
        )
      },
    },
    {
      name: 'clock',
      about: 'the clock of this machine against that of PostgreSQL',
      async find() {
        // SQLite has the clock of this machine.
        if (db.dialect !== 'postgres') return []
        const before = clock.now()
        const row = await db.get<{ now: number }>(
          sql`select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as now`,
        )
        const offMs = Math.abs(row!.now - (before + clock.now()) / 2)
        const make = offMs > CLOCK_FAULT_MS ? fault : warning
        return findingIf(offMs > CLOCK_WARNING_MS, () =>
          make(
            `the clock of this machine and that of the database are ${Math.round(offMs / 1000)} seconds apart`,
            'have both set by NTP: tokens and leases depend on it',
          ),
        )
      },
    },
    {
      name: 'disk',
      about: 'free space of DATA_DIR',
      async find() {
        const { bavail, bsize } = await statfs(settings.dataDir)
        const free = bavail * bsize
        const make = free < DISK_FAULT_BYTES ? fault : warning
        return findingIf(free < DISK_WARNING_BYTES, () =>
          make(`the disk of ${settings.dataDir} has ${size(free)} free`, 'make room, or move DATA_DIR'),
        )
      },
    },
    {
      name: 'write-ahead log',
      about: 'the size of the log of SQLite',
      async find() {
        const bytes = file === undefined ? 0 : await sizeOf(`${file}-wal`)
        return findingIf(bytes > WAL_WARNING_BYTES, () =>
          warning(
            `the write-ahead log ${file}-wal has ${size(bytes)}: something reads the database without an end`,
            'end the program that has the file open (sqlite3, a copy); it shrinks at the next start at the latest',
          ),
        )
      },
    },
    {
      name: 'failed jobs',
      about: 'background jobs that failed for good within a day',
      opens: { title: 'Show the failed jobs', at: 'jobs?state=failed' },
      async find() {
        const since = clock.now() - DAY_MS
        const rows = await db.all<{ kind: string; count: number }>(
          sql`select kind, count(*) as count from sixwire_jobs where ${FAILED} and run_at >= ${since}
              group by kind order by kind`,
        )
        const count = rows.reduce((sum, row) => sum + row.count, 0)
        return findingIf(count > 0, () => ({
          ...warning(
            `${count} background job${count === 1 ? '' : 's'} failed for good within a day (${rows.map(({ kind }) => kind).join(', ')})`,
            'sixwire jobs list --failed says why; then sixwire jobs retry or drop',
          ),
          mend: {
            label: 'Run the failed jobs again',
            call: 'POST /core/jobs/retry',
            body: { filter: {} },
            asks: 'All jobs that failed for good run again, older ones too. What they send is sent.',
            done: 'The jobs run again.',
          },
        }))
      },
    },
    {
      name: 'secret rotation',
      about: 'whether a rotation of the secret was cut off',
      async find() {
        const next = await findNextSecret(settings.dataDir)
        return findingIf(next !== undefined, () =>
          warning(
            'a rotation of the secret was cut off',
            'run sixwire secret rotate again, with all servers stopped',
          ),
        )
      },
    },
  ]
}

const sizeOf = (file: string): Promise<number> =>
  stat(file).then(
    ({ size }) => size,
    () => 0,
  )
