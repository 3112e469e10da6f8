import type { Readable } from 'node:stream'

import type { Clock } from '../../../../base/clock.ts'
import { within } from '../../../../base/within.ts'
import type { FileRow } from '../files.ts'
import { plainTypeOf } from '../sniff.ts'

/** What a scan may take, besides a second for each 4 MB. */
const LIMIT_MS = 60_000
const BYTES_PER_MS = 4_000
const REASON_CHARACTERS = 255

/** A file as a scan gets it. */
export type ScannedFile = {
  readonly _id: string
  readonly owner: string
  readonly originalName: string
  readonly contentType: string
  readonly size: number
  readonly sha256: string
}

/** Whether a file may be served; the reason is shown to those who may read its record. */
export type ScanVerdict = { readonly ok: true } | { readonly ok: false; readonly reason: string }

/**
 * Checks a new file before it is served. It may run again after a crash or a fault, and what it throws is retried.
 *
 * @param bytes the content; it need not be read to its end
 * @param options.signal aborts when the time is over, or the server ends
 * @example
 * const scan: FileScan = async ({ contentType }) =>
 *   contentType.startsWith('video/') ? { ok: false, reason: 'no videos' } : { ok: true }
 */
export type FileScan = (
  file: ScannedFile,
  bytes: Readable,
  options: { readonly signal: AbortSignal },
) => ScanVerdict | Promise<ScanVerdict>

/**
 * Has a file scanned, within 60 seconds and one for each 4 MB.
 *
 * @param options.bytes are closed in any case
 * @throws Error without a verdict: the scan or the storage failed, or the time was over
 */
export async function runScan(
  { clock }: { clock: Clock },
  scan: FileScan,
  file: FileRow,
  { bytes, stopping }: { bytes: Readable; stopping: AbortSignal },
): Promise<ScanVerdict> {
  const ending = new AbortController()
  const signal = AbortSignal.any([stopping, ending.signal])
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => undefined)
  bytes.once('error', failed.reject)
  signal.addEventListener('abort', () => failed.reject(signal.reason as Error))
  try {
    const limitMs = LIMIT_MS + file.size / BYTES_PER_MS
    const work = async () =>
      verdictOf(await Promise.race([scan(scanned(file), bytes, { signal }), failed.promise]))
    const verdict = await within(limitMs, work, clock)
    // A scan that does not notice has seen a part only.
    if (bytes.errored) throw bytes.errored
    return verdict
  } catch (error) {
    throw new Error(`store.files.scan: ${(error as Error).message}`, { cause: error })
  } finally {
    ending.abort()
    bytes.destroy()
  }
}

const scanned = (file: FileRow): ScannedFile => ({
  _id: file.id,
  owner: file.owner,
  originalName: file.original_name,
  contentType: plainTypeOf(file.content_type),
  size: file.size,
  sha256: file.sha256,
})

function verdictOf(answer: ScanVerdict | undefined): ScanVerdict {
  if (answer?.ok === true) return { ok: true }
  if (answer?.ok !== false || typeof answer.reason !== 'string')
    throw new TypeError('it must answer { ok: true } or { ok: false, reason }')
  const reason = answer.reason.slice(0, REASON_CHARACTERS).toWellFormed().replaceAll('\0', '\ufffd')
  return { ok: false, reason }
}
