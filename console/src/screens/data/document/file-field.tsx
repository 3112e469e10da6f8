import { useEffect, useRef, useState } from 'preact/hooks'

import { isError } from '../../../../../client/src/index.ts'
import { openLate } from '../../../parts/late.tsx'
import { messageOf, useLoad } from '../../../parts/load.tsx'
import { href, Link } from '../../../parts/router.tsx'
import { bytes, Text } from '../../../parts/text.tsx'
import { announce } from '../../../parts/toast.tsx'
import { loadFile, Thumbnail } from '../../files/preview.tsx'
import { States } from '../../files/states.tsx'
import { sendFile } from '../../files/upload.tsx'
import type { FileFieldLimits } from '../collection.ts'

const MEBIBYTE = 1_048_576

type Props = {
  ids: readonly string[]
  field: FileFieldLimits
  path: string
  isReadOnly: boolean
  /** Why the document was not saved. */
  error: unknown
  onIds: (ids: readonly string[]) => void
}

/** The files of a field: dropped or chosen, ordered and removed. */
export default function FileField(props: Props) {
  const { ids, field, path, isReadOnly, onIds } = props
  const { uploads, add, dismiss } = useUploads(props)
  const [isOver, setOver] = useState(false)
  const issues = issuesAt(props.error, path)
  const isMany = field.max > 1
  return (
    <div class="file-field">
      {ids.length > 0 && (
        <ol aria-label={`Files of ${path}`}>
          {ids.map((id, at) => (
            <li key={id}>
              <FileLine id={id} />
              {isMany && <MoveButtons {...{ ids, at, isReadOnly, onIds }} />}
              <button
                type="button"
                class="plain small"
                aria-label={`Take file ${at + 1} out of ${path}`}
                disabled={isReadOnly}
                onClick={() => onIds(ids.toSpliced(at, 1))}
              >
                <span aria-hidden="true">×</span>
              </button>
            </li>
          ))}
        </ol>
      )}
      {uploads.map((one) => (
        <p key={one.key} class="sent" role={one.fault ? 'alert' : undefined}>
          <Text>{one.file.name}</Text>{' '}
          {one.fault ? (
            <>
              <span class="fault">
                <Text>{one.fault}</Text>
              </span>{' '}
              <button type="button" class="link" onClick={() => dismiss(one.key)}>
                Dismiss
              </button>
            </>
          ) : (
            <progress
              aria-label={`Upload of ${one.file.name}`}
              max={Math.max(1, one.file.size)}
              value={one.done}
            />
          )}
        </p>
      ))}
      {issues.map((issue) => (
        <p key={issue} class="fault" role="alert">
          <Text>{issue}</Text>
        </p>
      ))}
      {!isReadOnly && (
        <div class="drop">
          <label class={isOver ? 'over' : undefined}>
            <input
              type="file"
              multiple={isMany}
              accept={field.types?.join()}
              aria-label={`Upload to ${path}`}
              onDragEnter={() => setOver(true)}
              onDragLeave={() => setOver(false)}
              onDrop={() => setOver(false)}
              onChange={({ currentTarget }) => {
                add([...(currentTarget.files ?? [])])
                currentTarget.value = ''
              }}
            />
            <span>
              <strong>
                {isMany
                  ? 'Drop or choose files'
                  : ids.length > 0
                    ? 'Replace the file'
                    : 'Drop or choose a file'}
              </strong>{' '}
              <span class="soft">{limitsOf(field)}</span>
            </span>
          </label>
          <button
            type="button"
            class="small"
            onClick={() =>
              openLate(() => import('./choose-file.tsx'), {
                field,
                path,
                onChoose: (id: string) => onIds(isMany ? [...ids.filter((one) => one !== id), id] : [id]),
              })
            }
          >
            Stored files…
          </button>
        </div>
      )}
    </div>
  )
}

function FileLine({ id }: { id: string }) {
  const { value: file, error } = useLoad((signal) => loadFile(id, signal), [id])
  return (
    <>
      {file && <Thumbnail file={file} />}
      <span class="about">
        <Link to={href(['files', id])}>
          <Text>{file?.originalName ?? id}</Text>
        </Link>
        {file && (
          <span class="soft">
            {bytes(file.size)} <States of={file} />
          </span>
        )}
        {error !== undefined && <span class="fault">{messageOf(error)}</span>}
      </span>
    </>
  )
}

function MoveButtons({
  ids,
  at,
  isReadOnly,
  onIds,
}: Pick<Props, 'ids' | 'isReadOnly' | 'onIds'> & { at: number }) {
  const move = (to: number, button: HTMLButtonElement) => {
    if (to < 0 || to >= ids.length) return
    onIds(ids.toSpliced(at, 1).toSpliced(to, 0, ids[at]!))
    announce(`File ${to + 1} of ${ids.length}`)
    // A row that is moved in the page loses the focus.
    requestAnimationFrame(() => button.focus())
  }
  return (
    <>
      {(
        [
          ['up', at - 1, '↑'],
          ['down', at + 1, '↓'],
        ] as const
      ).map(([where, to, sign]) => (
        <button
          key={where}
          type="button"
          class="plain small"
          aria-label={`Move file ${at + 1} ${where}`}
          disabled={isReadOnly}
          aria-disabled={to < 0 || to >= ids.length}
          onClick={(event) => move(to, event.currentTarget)}
        >
          <span aria-hidden="true">{sign}</span>
        </button>
      ))}
    </>
  )
}

type Upload = { key: number; file: File; done: number; fault?: string | undefined }
let keys = 0

/** Sends files one after the other; leaving the form ends what is still sent. */
function useUploads({ ids, field, onIds }: Props) {
  const [uploads, setUploads] = useState<readonly Upload[]>([])
  // The values when an upload ends, not when it began.
  const latest = useRef({ ids, onIds })
  latest.current = { ids, onIds }
  const queue = useRef(Promise.resolve())
  const leaving = useRef(new AbortController())
  useEffect(() => () => leaving.current.abort(), [])

  const change = (key: number, changes: Partial<Upload>) =>
    setUploads((all) => all.map((one) => (one.key === key ? { ...one, ...changes } : one)))
  const dismiss = (key: number) => setUploads((all) => all.filter((one) => one.key !== key))

  async function send({ key, file }: Upload): Promise<void> {
    const { signal } = leaving.current
    try {
      const { _id } = await sendFile(file, (done) => change(key, { done }), signal)
      if (signal.aborted) return
      dismiss(key)
      const { ids: others, onIds: put } = latest.current
      latest.current.ids = field.max > 1 ? [...others, _id] : [_id]
      put(latest.current.ids)
      announce(`${file.name} is uploaded`)
    } catch (error) {
      if (!signal.aborted) change(key, { fault: messageOf(error) })
    }
  }

  function add(files: readonly File[]): void {
    const room = field.max > 1 ? field.max - ids.length - uploads.filter(({ fault }) => !fault).length : 1
    const added = files.map((file, at): Upload => ({
      key: ++keys,
      file,
      done: 0,
      fault: at < room ? faultOf(file, field) : `This field takes ${filesText(field.max)}.`,
    }))
    setUploads((all) => [...all.filter(({ fault }) => !fault), ...added])
    for (const one of added) if (!one.fault) queue.current = queue.current.then(() => send(one))
  }

  return { uploads, add, dismiss }
}

const filesText = (count: number): string => (count === 1 ? 'one file' : `at most ${count} files`)

/** As it is configured: 5 MiB, not 5.2 MB. */
const limitText = (limit: number): string =>
  limit % MEBIBYTE === 0 ? `${limit / MEBIBYTE} MiB` : `${limit.toLocaleString()} bytes`

const limitsOf = ({ types, maxBytes, max }: FileFieldLimits): string =>
  [types?.join(', '), maxBytes !== undefined && `up to ${limitText(maxBytes)}`, max > 1 && filesText(max)]
    .filter(Boolean)
    .join(' · ')

/** What the server would refuse after the upload; the type is what the browser takes the file for. */
function faultOf({ type, size }: File, { types, maxBytes = Infinity }: FileFieldLimits): string | undefined {
  if (size > maxBytes) return `It has ${bytes(size)}, and this field takes up to ${limitText(maxBytes)}.`
  const isTaken =
    !types ||
    !type ||
    types.some(
      (one) => one === type || one === '*/*' || (one.endsWith('/*') && type.startsWith(one.slice(0, -1))),
    )
  return isTaken ? undefined : `It is ${type}, and this field takes ${types.join(', ')}.`
}

/** What the server says of a field and of what is in it. */
function issuesAt(error: unknown, path: string): string[] {
  if (!isError(error, 'VALIDATION_ERROR')) return []
  const { issues = [] } = (error.details ?? {}) as { issues?: readonly { path: string; message: string }[] }
  const pointer = `/body/${path.replaceAll('.', '/')}`
  return issues
    .filter((one) => one.path === pointer || one.path.startsWith(`${pointer}/`))
    .map(({ message }) => message)
}
