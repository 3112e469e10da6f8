import { bytes, Text } from '../../parts/text.tsx'
import { sendAgain, uploads } from './upload.tsx'

/** What is being uploaded, and what has failed. */
export default function Uploads({ onDone }: { onDone: () => void }) {
  const all = uploads.value
  const unfinishedCount = all.filter(({ state }) => state === 'waiting' || state === 'running').length
  return (
    <section class="notice uploads" aria-label="Uploads">
      <p>
        <strong>
          {unfinishedCount > 0
            ? `Uploading ${unfinishedCount} of ${all.length}`
            : `${all.length} uploads have ended`}
        </strong>{' '}
        {unfinishedCount === 0 && (
          <button type="button" class="link" onClick={() => (uploads.value = [])}>
            Clear
          </button>
        )}
      </p>
      <ul>
        {all.slice(0, 50).map(({ id, file, done, state, error }) => (
          <li key={id}>
            <span>
              <Text>{file.name}</Text> <span class="soft">{bytes(file.size)}</span>
            </span>
            {state === 'failed' ? (
              <span class="fault" role="alert">
                <Text>{error!}</Text>{' '}
                <button type="button" class="link" onClick={() => sendAgain(id, onDone)}>
                  Try again
                </button>
              </span>
            ) : (
              <progress
                aria-label={`Upload of ${file.name}`}
                max={Math.max(1, file.size)}
                value={state === 'done' ? Math.max(1, file.size) : done}
              />
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
