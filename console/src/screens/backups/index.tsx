import { useEffect, useState } from 'preact/hooks'

import { isError } from '../../../../client/src/index.ts'
import { Late } from '../../parts/late.tsx'
import { List } from '../../parts/list.tsx'
import { messageOf } from '../../parts/load.tsx'
import { href, Link } from '../../parts/router.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Badge, bytes, Time, type Tone } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import type { Backup } from './pane.tsx'

const TONES: Record<Backup['status'], Tone> = { completed: 'good', running: 'warning', failed: 'bad' }
const POLL_MS = 2_000

async function loadBackups({ cursor, signal }: { cursor: string | undefined; signal: AbortSignal }) {
  const query = { cursor, limit: 50, total: 'none' as const }
  const { backups, nextCursor } = await six.call('GET /store/backups', { query, signal })
  return { rows: backups, nextCursor }
}

/** Archives of documents and files. */
export default function Backups() {
  return (
    <List<Backup>
      title="Backups"
      at={['backups']}
      idOf={({ _id }) => _id}
      nameOf={({ createdAt }) => `The backup of ${createdAt}`}
      load={loadBackups}
      columns={[
        {
          name: 'created',
          title: 'Made',
          order: ({ createdAt }) => createdAt,
          width: '150px',
          cell: ({ createdAt }) => <Time at={createdAt} />,
        },
        {
          name: 'status',
          title: 'State',
          order: ({ status }) => status,
          width: '130px',
          cell: ({ status, warning }) => (
            <>
              <Badge tone={TONES[status]}>{status}</Badge> {warning && <Badge tone="warning">!</Badge>}
            </>
          ),
        },
        {
          name: 'kind',
          title: 'Kind',
          order: ({ kind }) => kind,
          width: '110px',
          isMinor: true,
          cell: ({ kind }) => kind,
        },
        {
          name: 'documents',
          title: 'Documents',
          order: ({ documents }) => documents,
          width: '104px',
          isNumber: true,
          isMinor: true,
          cell: ({ documents }) => documents?.toLocaleString(),
        },
        {
          name: 'files',
          title: 'Files',
          order: ({ files }) => files,
          width: '80px',
          isNumber: true,
          isMinor: true,
          cell: ({ files }) => files?.toLocaleString(),
        },
        {
          name: 'size',
          title: 'Size',
          order: ({ size }) => size,
          width: '90px',
          isNumber: true,
          cell: ({ size }) => (size === undefined ? '' : bytes(size)),
        },
      ]}
      empty={
        <p>
          No backups yet. Make the first one, and let the server make them:{' '}
          <Link to={href(['settings', 'store.backups'])}>Settings</Link>.
        </p>
      }
      buttons={(again) => <Make again={again} />}
      pane={(id, backup, again) => (
        <Late key={id} load={() => import('./pane.tsx')} props={{ id, backup, again }} />
      )}
    />
  )
}

/** Makes a backup, and shows how far it is. */
function Make({ again }: { again: () => void }) {
  const [running, setRunning] = useState<Backup>()
  const [isBusy, setBusy] = useState(false)
  useEffect(() => {
    if (!running) return
    const timer = setTimeout(() => void follow(running._id), POLL_MS)
    return () => clearTimeout(timer)
  }, [running])
  async function follow(id: string): Promise<void> {
    try {
      const backup = await six.call('GET /store/backups/:id', { params: { id } })
      if (backup.status === 'running') return setRunning(backup)
      setRunning(undefined)
      end(backup)
    } catch (error) {
      setRunning(undefined)
      toast(messageOf(error), { tone: 'bad' })
    }
  }
  function end({ status, error }: Backup): void {
    if (status === 'completed') toast('Backup completed.')
    else toast(`The backup failed: ${error}`, { tone: 'bad' })
    again()
  }
  async function make(): Promise<void> {
    setBusy(true)
    try {
      const backup = await six.call('POST /store/backup', { idempotencyKey: crypto.randomUUID() })
      if (backup.status === 'running') setRunning(backup)
      else end(backup)
      again()
    } catch (error) {
      const text = isError(error, 'CONFLICT') ? 'A backup is being made already.' : messageOf(error)
      toast(text, { tone: 'bad' })
      again()
    } finally {
      setBusy(false)
    }
  }
  const isMaking = isBusy || running !== undefined
  const { done, total } = running?.progress ?? {}
  return (
    <>
      {isMaking && <progress aria-label="Progress of the backup" value={done} max={total} />}
      <button
        type="button"
        class="primary"
        disabled={!canWrite.value || isMaking}
        onClick={() => void make()}
      >
        {isMaking ? 'Making a backup…' : 'Make a backup'}
      </button>
    </>
  )
}
