import { useState } from 'preact/hooks'

import { confirm, withProof } from '../../parts/dialog.tsx'
import { installation } from '../../parts/installation.ts'
import { messageOf, Problem, Show, useLoad } from '../../parts/load.tsx'
import { go, href, place } from '../../parts/router.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Badge, bytes, Facts, Id, Text, Time } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'

export type Backup = Awaited<ReturnType<typeof loadBackup>>
type Preview = Awaited<ReturnType<typeof checkBackup>>

const loadBackup = (id: string, signal?: AbortSignal) =>
  six.call('GET /store/backups/:id', { params: { id }, ...(signal && { signal }) })

const checkBackup = (id: string) => six.call('GET /store/backups/:id/check', { params: { id } })

/** One backup: what it holds, its archive, and what a restore would do. */
export default function BackupPane(props: { id: string; backup: Backup | undefined; again: () => void }) {
  const { id, backup, again } = props
  const loaded = useLoad(async (signal) => backup ?? loadBackup(id, signal), [id, backup])
  return <Show of={loaded}>{(one) => <BackupView backup={one} again={again} />}</Show>
}

const count = (number: number, noun: string): string =>
  `${number.toLocaleString()} ${noun}${number === 1 ? '' : 's'}`

type Checked =
  | { state: 'no' | 'running' }
  | { state: 'done'; preview: Preview }
  | { state: 'failed'; error: unknown }

function BackupView({ backup, again }: { backup: Backup; again: () => void }) {
  const { _id: id, status, progress } = backup
  const [checked, setChecked] = useState<Checked>({ state: 'no' })
  const isCompleted = status === 'completed'

  async function check(): Promise<void> {
    setChecked({ state: 'running' })
    try {
      setChecked({ state: 'done', preview: await checkBackup(id) })
    } catch (error) {
      setChecked({ state: 'failed', error })
    }
  }

  const remove = () =>
    confirm({
      title: 'Delete this backup?',
      verb: 'Delete',
      children: <p>The backup {id} and its archive are deleted. This cannot be undone.</p>,
      async act() {
        await six.call('DELETE /store/backups/:id', { params: { id } })
        toast('Backup deleted.')
        go(href(['backups'], place.value.query))
        again()
      },
    })

  return (
    <>
      <h2 tabIndex={-1}>
        Backup <Badge tone={isCompleted ? 'good' : status === 'failed' ? 'bad' : 'warning'}>{status}</Badge>
      </h2>
      {backup.error && (
        <div class="notice bad" role="alert">
          <Text>{backup.error}</Text>
        </div>
      )}
      {backup.warning && (
        <div class="notice warning">
          <Text>{backup.warning}</Text>
        </div>
      )}
      {progress && (
        <p>
          <progress aria-label="Progress" value={progress.done} max={progress.total} /> {bytes(progress.done)}{' '}
          of {bytes(progress.total)}
        </p>
      )}
      <Facts
        of={[
          ['Made', <Time at={backup.createdAt} />],
          ['Completed', <Time at={backup.completedAt} />],
          ['Kind', backup.kind],
          isCompleted && [
            'Holds',
            `${count(backup.documents!, 'document')} in ${count(backup.collections!, 'collection')}, ${count(backup.files!, 'file')}`,
          ],
          isCompleted && ['Archive', bytes(backup.size!)],
          isCompleted && ['SHA-256', <Id what="the checksum">{backup.sha256!}</Id>],
          ['Id', <Id>{id}</Id>],
        ]}
      />
      <div class="buttons">
        <button
          type="button"
          disabled={!isCompleted || checked.state === 'running'}
          onClick={() => void check()}
        >
          {checked.state === 'running' ? 'Checking…' : 'Check and compare'}
        </button>
        <Download backup={backup} />
        <button
          type="button"
          class="dangerous"
          disabled={!canWrite.value || status === 'running'}
          onClick={remove}
        >
          Delete
        </button>
      </div>
      {checked.state === 'failed' && <Problem error={checked.error} again={() => void check()} />}
      {checked.state === 'done' && <Comparison of={checked.preview} id={id} again={again} />}
      {checked.state === 'no' && isCompleted && (
        <p class="soft">A restore begins with a check, which shows what it would replace.</p>
      )}
    </>
  )
}

/** Reads the archive with the token of the session: it has no link of its own. */
function Download({ backup }: { backup: Backup }) {
  const [isBusy, setBusy] = useState(false)
  async function download(): Promise<void> {
    setBusy(true)
    try {
      const blob = await six.call('GET /store/backups/:id/archive', { params: { id: backup._id } })
      const url = URL.createObjectURL(blob)
      const link = document.createElement('a')
      link.href = url
      link.download = `${backup._id}.tar.zst`
      link.click()
      setTimeout(() => URL.revokeObjectURL(url), 60_000)
    } catch (error) {
      toast(messageOf(error), { tone: 'bad' })
    } finally {
      setBusy(false)
    }
  }
  return (
    <button type="button" disabled={backup.status !== 'completed' || isBusy} onClick={() => void download()}>
      {isBusy ? 'Downloading…' : 'Download'}
    </button>
  )
}

/** What the archive holds beside what is stored now, and the button that replaces the one by the other. */
function Comparison({ of: preview, id, again }: { of: Preview; id: string; again: () => void }) {
  const { documents, files, collections, definitions, createdAt } = preview
  const named = (here: (typeof definitions)[number]['here']): string =>
    definitions.flatMap((one) => (one.here === here ? [one.name] : [])).join(', ')
  const name = installation.value?.name ?? ''
  const restore = () =>
    confirm({
      title: 'Restore this backup?',
      verb: 'Restore',
      type: name,
      children: (
        <>
          <p>
            All {count(documents.stored, 'document')} and {count(files.stored, 'file')} of{' '}
            <strong>{name}</strong> are replaced by {count(documents.archived, 'document')} and{' '}
            {count(files.archived, 'file')}, as they were <Time at={createdAt} />.
          </p>
          <p>A safety backup is made first; until it is finished, writes are answered 503.</p>
        </>
      ),
      async act() {
        const { safetyBackup } = await withProof(() =>
          six.call('POST /store/backup/:id/restore', { params: { id } }),
        )
        toast('Restored. What was replaced is in a safety backup.')
        again()
        go(href(['backups', safetyBackup]))
      },
    })
  return (
    <section class="comparison" aria-label="Comparison">
      <p>
        <Badge tone="good">The archive is whole</Badge> It holds <Time at={createdAt} />.
      </p>
      <table>
        <caption class="quiet">What a restore would replace</caption>
        <thead>
          <tr>
            <th scope="col">Collection</th>
            <th scope="col" class="number">
              In the archive
            </th>
            <th scope="col" class="number">
              Stored now
            </th>
          </tr>
        </thead>
        <tbody>
          {collections.map((one) => (
            <Counts key={one.name} name={one.name} archived={one.archived} stored={one.stored} />
          ))}
          <Counts name="Files" archived={files.archived} stored={files.stored} />
        </tbody>
      </table>
      {named('none') && (
        <p>
          Without a definition here, so that that of the archive comes into force:{' '}
          <Text>{named('none')}</Text>.
        </p>
      )}
      {named('other') && (
        <p>
          With another definition here, which stays: <Text>{named('other')}</Text>.
        </p>
      )}
      <div class="buttons">
        <button type="button" class="dangerous" disabled={!canWrite.value} onClick={restore}>
          Restore…
        </button>
      </div>
    </section>
  )
}

const Counts = ({ name, archived, stored }: { name: string; archived: number; stored: number }) => (
  <tr class={archived === stored ? undefined : 'differs'}>
    <th scope="row">
      <Text>{name}</Text>
    </th>
    <td class="number">{archived.toLocaleString()}</td>
    <td class="number">{stored.toLocaleString()}</td>
  </tr>
)
