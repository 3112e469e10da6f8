import { useEffect, useState } from 'preact/hooks'

import type { Api, CallReply } from '../../../client/src/index.ts'
import { Dialog, openDialog, withProof } from './dialog.tsx'
import { messageOf, Problem, Show, useLoad } from './load.tsx'
import { bytes, Time } from './text.tsx'
import { toast } from './toast.tsx'

type Deletion = CallReply<Api, 'GET /auth/me/deletion'>
type Export = CallReply<Api, 'GET /auth/me/export'>

const POLL_MS = 1_000

/** What the deletion of an account erases, and what it keeps and why, before it is done. */
export function DeletionPreview({ load }: { load: (signal: AbortSignal) => Promise<Deletion> }) {
  const loaded = useLoad(load, [])
  return (
    <Show of={loaded}>
      {({ erased, kept }) => (
        <>
          <p>The account can’t sign in from now on. Erased with it, or within about an hour:</p>
          <ul>
            {erased.map(({ table, about, count }) => (
              <li key={table}>
                {about}: {count}
              </li>
            ))}
          </ul>
          {kept.length > 0 && (
            <>
              <p>Kept:</p>
              <ul>
                {kept.map(({ table, about, count, reason }) => (
                  <li key={table}>
                    {about}: {count}. <span class="soft">Why: {reason}.</span>
                  </li>
                ))}
              </ul>
            </>
          )}
        </>
      )}
    </Show>
  )
}

/**
 * Exports the data of a person, and shows the link to the archive when it is there.
 *
 * @param load begins the export, and tells how far it is
 */
export function exportData(load: () => Promise<Export>): void {
  withProof(load).then(
    (begun) => openDialog((close) => <ExportDialog begun={begun} load={load} close={close} />),
    (error: unknown) => toast(messageOf(error), { tone: 'bad' }),
  )
}

/** The page may be open under another name of the server than its public one. */
function fromHere(url: string): string {
  const { pathname, search } = new URL(url)
  return location.origin + pathname + search
}

function ExportDialog({
  begun,
  load,
  close,
}: {
  begun: Export
  load: () => Promise<Export>
  close: () => void
}) {
  const [state, setState] = useState(begun)
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    if (state.state === 'ready' || error !== undefined) return undefined
    const timer = setTimeout(() => void load().then((next) => setState({ ...next }), setError), POLL_MS)
    return () => clearTimeout(timer)
  }, [state, error])
  return (
    <Dialog title="Export of all data" close={close}>
      {error !== undefined && <Problem error={error} />}
      <p role="status">
        {state.state === 'running'
          ? 'The archive is being written. It goes on if you close this, and the same button finds it later.'
          : 'One zip archive has the records of all parts, as JSON a line, and the files.'}
      </p>
      {state.state === 'ready' && (
        <p>
          <a href={fromHere(state.url)} download autoFocus>
            Download the archive
          </a>{' '}
          ({bytes(state.size)}). The link works for 15 minutes; the archive is deleted{' '}
          <Time at={state.deletedAt} />.
        </p>
      )}
      <div class="buttons end">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
