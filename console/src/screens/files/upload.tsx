import { signal } from '@preact/signals'

import { createClient, isError } from '../../../../client/src/index.ts'
import { messageOf } from '../../parts/load.tsx'
import { accessToken, canWrite, serverUrl, six } from '../../parts/session.ts'
import { announce } from '../../parts/toast.tsx'

type Upload = {
  id: number
  file: File
  /** Sent so far. */
  done: number
  state: 'waiting' | 'running' | 'done' | 'failed'
  error?: string
}

const AT_ONCE = 2

// They go on while another screen is open.
export const uploads = signal<readonly Upload[]>([])
let count = 0
let running = 0

// Without a `fetch` of its own, so that it tells the progress.
const sender = createClient(serverUrl)

const change = (id: number, changes: Partial<Upload>): void =>
  void (uploads.value = uploads.value.map((one) => (one.id === id ? { ...one, ...changes } : one)))

/**
 * Stores a file.
 *
 * @param onSent is told how many of its bytes are sent
 */
export async function sendFile(file: File, onSent: (bytes: number) => void, signal?: AbortSignal) {
  const input = {
    idempotencyKey: crypto.randomUUID(),
    onProgress: ({ loaded }: { loaded: number }) => onSent(Math.min(loaded, file.size)),
    ...(signal && { signal }),
  }
  try {
    return await sender.upload(file, { ...input, token: accessToken() })
  } catch (error) {
    if (!isError(error, 'UNAUTHORIZED')) throw error
    // Renews the token, or waits for the reader to sign in again.
    await six.call('GET /auth/me')
    return sender.upload(file, { ...input, token: accessToken() })
  }
}

/** Sends what waits, two files at a time. */
function sendNext(onDone: () => void): void {
  if (running >= AT_ONCE) return
  const next = uploads.value.find(({ state }) => state === 'waiting')
  if (!next) {
    if (running === 0) onDone()
    return
  }
  running++
  change(next.id, { state: 'running' })
  sendFile(next.file, (done) => change(next.id, { done }))
    .then(
      () => change(next.id, { state: 'done', done: next.file.size }),
      (error: unknown) => change(next.id, { state: 'failed', error: messageOf(error) }),
    )
    .finally(() => {
      running--
      announce(`${next.file.name}: ${uploads.value.find(({ id }) => id === next.id)?.state}`)
      sendNext(onDone)
    })
  sendNext(onDone)
}

function add(files: Iterable<File>, onDone: () => void): void {
  const added = [...files].map((file): Upload => ({ id: ++count, file, done: 0, state: 'waiting' }))
  uploads.value = [...uploads.value.filter(({ state }) => state !== 'done'), ...added]
  sendNext(onDone)
}

/** A button to choose files. The field lies over it, so files can be dropped on it as well. */
export const UploadButton = ({ onDone }: { onDone: () => void }) => (
  <label class="upload" aria-disabled={!canWrite.value}>
    <input
      type="file"
      multiple
      aria-label="Upload files"
      disabled={!canWrite.value}
      onChange={(event) => {
        add(event.currentTarget.files ?? [], onDone)
        event.currentTarget.value = ''
      }}
    />
    <span>Upload or drop files</span>
  </label>
)

/** Sends again what has failed. */
export function sendAgain(id: number, onDone: () => void): void {
  change(id, { state: 'waiting', done: 0 })
  sendNext(onDone)
}
