import { useEffect, useRef, useState } from 'preact/hooks'

import { messageOf, useLoad } from '../../parts/load.tsx'
import { six } from '../../parts/session.ts'
import { Text } from '../../parts/text.tsx'

export type ShownFile = Awaited<ReturnType<typeof loadFile>>

export const loadFile = (id: string, signal?: AbortSignal) =>
  six.call('GET /store/files/:id', { params: { id }, ...(signal && { signal }) })

const TEXT_BYTES = 65_536
const SVG_BYTES = 2_000_000
const RESIZED = /^image\/(?:jpeg|a?png|webp|gif|avif)$/
const READABLE = /^(?:text\/|application\/(?:json|xml|javascript|yaml|x-yaml|toml|sql|.*\+(?:json|xml)))/

/** In a box of so many pixels; on finer screens twice as many. Not as `size`, of which the configuration may list others. */
const within = (side: number, fit: 'inside' | 'cover') => {
  const pixels = devicePixelRatio > 1 ? side * 2 : side
  return { width: pixels, height: pixels, fit, format: 'webp' as const }
}
const SMALL = within(64, 'cover')
const MEDIUM = within(256, 'inside')
const LARGE = within(1024, 'inside')

const isSvg = ({ contentType, size }: ShownFile): boolean =>
  contentType === 'image/svg+xml' && size <= SVG_BYTES

const isPicture = (file: ShownFile): boolean => RESIZED.test(file.contentType) || isSvg(file)

/**
 * The picture of a file as the address of a blob, for <img> only: there nothing in it runs. Any picture but SVG comes from the
 * server resized.
 */
function usePicture(
  file: ShownFile,
  isWanted: boolean,
  query: typeof SMALL,
): { url?: string; fault?: string } {
  const [state, setState] = useState<{ url?: string; fault?: string }>({})
  useEffect(() => {
    if (!isWanted) return
    const controller = new AbortController()
    let url: string | undefined
    async function load(): Promise<void> {
      const blob = await six.call('GET /store/files/:id/content', {
        params: { id: file._id },
        query: isSvg(file) ? {} : query,
        signal: controller.signal,
      })
      if (controller.signal.aborted) return
      url = URL.createObjectURL(blob)
      setState({ url })
    }
    load().catch((error: unknown) => controller.signal.aborted || setState({ fault: messageOf(error) }))
    return () => {
      controller.abort()
      if (url) URL.revokeObjectURL(url)
    }
  }, [file._id, isWanted])
  return state
}

/** A small picture of a file, loaded once it is in sight; of others their kind in letters. */
export function Thumbnail({ file, isMedium = false }: { file: ShownFile; isMedium?: boolean }) {
  const ref = useRef<HTMLSpanElement>(null)
  const [isInSight, setInSight] = useState(false)
  useEffect(() => {
    if (!isPicture(file) || file.status) return
    const observer = new IntersectionObserver(
      ([entry]) => entry!.isIntersecting && (setInSight(true), observer.disconnect()),
    )
    observer.observe(ref.current!)
    return () => observer.disconnect()
  }, [file._id, file.status])
  const { url } = usePicture(file, isInSight, isMedium ? MEDIUM : SMALL)
  return (
    <span class="thumbnail" ref={ref} aria-hidden="true">
      {url ? <img src={url} alt="" /> : kindOf(file)}
    </span>
  )
}

const kindOf = ({ contentType }: ShownFile): string =>
  contentType === 'application/octet-stream' ? 'file' : contentType.replace(/^.*[/+]/, '').slice(0, 12)

/** What is in a file, as far as it can be shown without running anything. */
export function Preview({ file }: { file: ShownFile }) {
  if (file.status === 'pending') return <p class="soft">It is being checked, and is not served until then.</p>
  if (file.status === 'refused')
    return (
      <p class="notice bad">
        <strong>It is not served.</strong> <Text>{file.refusal ?? 'It was refused.'}</Text>
      </p>
    )
  if (isPicture(file)) return <Picture file={file} />
  if (READABLE.test(file.contentType)) return <TextPreview file={file} />
  return <p class="soft">There is no preview of {file.contentType}: download it.</p>
}

function Picture({ file }: { file: ShownFile }) {
  const { url, fault } = usePicture(file, true, LARGE)
  if (fault !== undefined) return <p class="soft">This picture cannot be shown. {fault}</p>
  return <div class="picture">{url && <img src={url} alt={`Preview of ${file.originalName}`} />}</div>
}

/** The beginning of a text, as text: also HTML and scripts. */
function TextPreview({ file }: { file: ShownFile }) {
  const { value, error } = useLoad(
    async (signal) => {
      if (file.size === 0) return ''
      const headers = { range: `bytes=0-${TEXT_BYTES - 1}` }
      const blob = await six.call('GET /store/files/:id/content', {
        params: { id: file._id },
        headers,
        signal,
      })
      return blob.text()
    },
    [file._id],
  )
  if (error !== undefined) return <p class="soft">This text cannot be shown. {messageOf(error)}</p>
  if (value === undefined) return <p class="loading">Loading…</p>
  return (
    <>
      <pre class="json" tabIndex={0} aria-label="Preview">
        <Text>{value}</Text>
      </pre>
      {file.size > TEXT_BYTES && <p class="soft">The first {TEXT_BYTES / 1024} KiB.</p>}
    </>
  )
}
