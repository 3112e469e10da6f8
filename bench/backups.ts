import { setTimeout as delay } from 'node:timers/promises'

import { sql } from '../src/db/sql.ts'
import { promoteAll, write } from './admin.ts'
import { openBaseline } from './backup-baseline.ts'
import type { Bench } from './bench.ts'
import { askFor } from './client.ts'
import { documentBody, seed } from './documents.ts'
import { posts } from './load.ts'
import { idle, memoryOf } from './procfs.ts'
import type { Server } from './servers.ts'
import { median } from './statistics.ts'

/** Documents a second: the median, and each round. */
type Rate = { perSecond: number; rounds: number[] }

export type BackupsResult = {
  documents: number
  /** Of an archive. */
  megabytes: number
  /** `ratios`, one a round: the backup over the baseline. */
  baseline: (Rate & { name: string; ratio: number; ratios: number[] }) | undefined
  backup: Rate
  /** `into`: a store that has no documents; `over`: one that has the same, which the safety backup holds. */
  restores: Record<'into' | 'over', Rate>
  /** Creates per second, without backups and while one backup after another is made. */
  writes: {
    connections: number
    quiet: number
    during: number
    share: number
    shares: number[]
    backup: Rate
    seconds: number[]
  }
  /** The most that the process ever had; undefined where the system does not tell. */
  memory: { seeded: number; backups: number; writes: number; restores: number } | undefined
}

type BackupRecord = { _id: string; status: string; documents: number; size: number; error?: string }
type TimedBackup = { record: BackupRecord; seconds: number }

const CONNECTIONS = 32
const BODIES = 5_000
const RESTORES = 3
const POLL_MS = 20

async function backUp({ base, token }: Server): Promise<TimedBackup> {
  const begun = performance.now()
  let record = await askFor<BackupRecord>(base, 'POST /store/backup', { token })
  while (record.status === 'running') {
    await delay(POLL_MS)
    record = await askFor<BackupRecord>(base, `GET /store/backups/${record._id}`, { token })
  }
  const seconds = (performance.now() - begun) / 1000
  if (record.status !== 'completed') throw new Error(`a backup failed: ${record.error}`)
  return { record, seconds }
}

const remove = ({ base, token }: Server, { record }: TimedBackup): Promise<unknown> =>
  askFor(base, `DELETE /store/backups/${record._id}`, { token })

const perSecond = ({ record, seconds }: TimedBackup): number => record.documents / seconds

const rateOf = (rounds: number[]): Rate => ({ perSecond: median(rounds), rounds })

/** How many documents a second are backed up and restored, and what is left for writes meanwhile. */
export async function runBackups(bench: Bench, faults: string[]): Promise<BackupsResult> {
  const { options, load, note, folder } = bench
  const server = await bench.open('sixwire', 'backups')
  const { base, token, pid } = server
  await promoteAll(bench.databaseUrl('backups'))
  await seed(server, options.documents, (done) => note(`seeding: ${done} of ${options.documents} documents`))
  await idle(pid)
  const peak = () => memoryOf(pid)?.peakMB
  const seeded = peak()
  const baseline = await openBaseline(bench.databaseUrl('backups'), folder)

  const rates: { backup: number; baseline: number }[] = []
  let megabytes = 0
  for (let round = 0; round <= options.rounds; round++) {
    note(`backups: round ${round} of ${options.rounds}`)
    const backup = await backUp(server)
    await remove(server, backup)
    await idle(pid)
    const bare = (await baseline?.run()) ?? NaN
    megabytes = backup.record.size / 1e6
    // The first round warms up.
    if (round > 0) rates.push({ backup: perSecond(backup), baseline: backup.record.documents / bare })
  }
  const ratios = rates.map((rate) => rate.backup / rate.baseline)
  const afterBackups = peak()

  const bodies = Array.from({ length: BODIES }, (_, at) => documentBody(at * 17, options.documents))
  const creates = posts(folder, '/store/others', bodies)
  const create = async (): Promise<number> => {
    const round = await load.run(server, creates, CONNECTIONS)
    if (round.failed > 0) faults.push(`backups: ${round.failed} creates failed`)
    return round.perSecond
  }
  const pairs: { quiet: number; during: number }[] = []
  const meanwhile: TimedBackup[] = []
  await create()
  for (let round = 1; round <= options.rounds; round++) {
    note(`backups: creates, round ${round} of ${options.rounds}`)
    const quiet = await create()
    await idle(pid)
    let isOver = false
    const creating = create().finally(() => (isOver = true))
    const made: TimedBackup[] = []
    while (!isOver) made.push(await backUp(server))
    pairs.push({ quiet, during: await creating })
    // The last one ended without writes.
    meanwhile.push(...(made.length > 1 ? made.slice(0, -1) : made))
    for (const backup of made) await remove(server, backup)
    await idle(pid)
  }
  const shares = pairs.map(({ quiet, during }) => during / quiet)
  const afterWrites = peak()

  const backup = await backUp(server)
  const restores: Record<'into' | 'over', number[]> = { into: [], over: [] }
  for (let round = 1; round <= Math.min(RESTORES, options.rounds); round++)
    for (const kind of ['into', 'over'] as const) {
      note(`backups: restore ${round}`)
      if (kind === 'into') await write(bench.databaseUrl('backups'), sql`delete from store_documents`)
      const begun = performance.now()
      await askFor(base, `POST /store/backup/${backup.record._id}/restore`, { token })
      restores[kind].push(backup.record.documents / ((performance.now() - begun) / 1000))
      await idle(pid)
    }
  const { total } = await askFor<{ total: number }>(base, 'GET /store/items?limit=1', { token })
  if (total !== options.documents) faults.push(`backups: ${total} documents after a restore`)
  const afterRestores = peak()
  await server.stop()

  return {
    documents: options.documents,
    megabytes,
    baseline: baseline && {
      name: baseline.name,
      ...rateOf(rates.map((rate) => rate.baseline)),
      ratio: median(ratios),
      ratios,
    },
    backup: rateOf(rates.map((rate) => rate.backup)),
    restores: { into: rateOf(restores.into), over: rateOf(restores.over) },
    writes: {
      connections: CONNECTIONS,
      quiet: median(pairs.map(({ quiet }) => quiet)),
      during: median(pairs.map(({ during }) => during)),
      share: median(shares),
      shares,
      backup: rateOf(meanwhile.map(perSecond)),
      seconds: meanwhile.map(({ seconds }) => seconds),
    },
    memory:
      seeded === undefined
        ? undefined
        : { seeded, backups: afterBackups!, writes: afterWrites!, restores: afterRestores! },
  }
}
