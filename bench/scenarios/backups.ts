import { setTimeout as delay } from 'node:timers/promises'

import { defineScenario, type Server } from '../bench.ts'
import { compare, rowOf, type Side } from '../compare.ts'
import { creates, seed } from '../documents.ts'
import { loadSide } from '../load.ts'
import { memoryOf } from '../process.ts'
import { askFor } from '../servers.ts'

type BackupRecord = { _id: string; status: string; documents: number; error?: string }

const CONNECTIONS = 32
const POLL_MS = 20

/** Makes a backup and waits for it. */
async function backUp({ base, token }: Server): Promise<BackupRecord> {
  let record = await askFor<BackupRecord>(base, 'POST /store/backup', { token })
  for (; record.status === 'running'; await delay(POLL_MS))
    record = await askFor<BackupRecord>(base, `GET /store/backups/${record._id}`, { token })
  if (record.status !== 'completed') throw new Error(`a backup failed: ${record.error}`)
  return record
}

const remove = ({ base, token }: Server, { _id }: BackupRecord): Promise<unknown> =>
  askFor(base, `DELETE /store/backups/${_id}`, { token })

export default defineScenario({
  name: 'backups',
  summary: 'backups and restores against creates by arrays, and creates while backups are made',

  async prepare(bench) {
    const server = await bench.open('sixwire', 'sixwire', { isAdmin: true })
    const { perSecond } = await seed(bench, server, 'items', { to: bench.settings.documents })
    return { server, createdPerSecond: perSecond, seededMB: memoryOf(server.pid).peak }
  },

  async *run(bench, { server, createdPerSecond, seededMB }) {
    const { documents, rounds } = bench.settings
    const { base, token, pid } = server
    const quiet = loadSide(bench, server, creates('others', documents), CONNECTIONS)
    const during: Side = {
      pid,
      async measure() {
        let isOver = false
        const figures = quiet.measure().finally(() => (isOver = true))
        while (!isOver) await remove(server, await backUp(server))
        return figures
      },
    }
    yield* compare(bench, `create during backups, ${CONNECTIONS} connections`, ['no backup', quiet], during)

    const backupRates: number[] = []
    const restoreRates: number[] = []
    for (let round = 1; round <= rounds; round++) {
      bench.note(`backup and restore, round ${round} of ${rounds}`)
      const begun = performance.now()
      const record = await backUp(server)
      const middle = performance.now()
      await askFor(base, `POST /store/backup/${record._id}/restore`, { token })
      backupRates.push((record.documents * 1000) / (middle - begun))
      restoreRates.push((record.documents * 1000) / (performance.now() - middle))
    }
    const { total } = await askFor<{ total: number }>(base, 'GET /store/items?limit=1', { token })
    if (total !== documents) bench.fault(`${total} documents after a restore`)
    const peer: [string, number] = ['created by arrays', createdPerSecond]
    yield rowOf('backup', 'documents a second', peer, ...backupRates)
    yield rowOf('restore over the same documents', 'documents a second', peer, ...restoreRates)
    yield rowOf('resident memory at most', 'MB', ['before backups', seededMB], memoryOf(pid).peak)
  },
})
