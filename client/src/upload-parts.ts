import type { AnyInput } from './route-types.ts'
import type { SendWithProgress } from './upload-calls.ts'

/** A part that the bucket takes, as `UploadState` names it. */
export type UploadPart = { start: number; size: number; url: string }

const AT_ONCE = 3

/**
 * Sends parts of a file to the bucket, three at a time.
 *
 * @throws Error if the bucket does not take one of them: its address may have expired
 */
export async function sendParts(
  send: SendWithProgress,
  file: Blob,
  parts: readonly UploadPart[],
  { offset, onProgress, signal }: Pick<AnyInput, 'onProgress' | 'signal'> & { offset: number },
): Promise<void> {
  const sent = new Map<UploadPart, number>()
  const sendPart = async (part: UploadPart): Promise<void> => {
    const { start, size, url } = part
    const tell = ({ loaded }: { loaded: number }) => {
      sent.set(part, loaded)
      const all = [...sent.values()].reduce((sum, one) => sum + one, offset)
      onProgress?.({ loaded: Math.min(all, file.size), total: file.size })
    }
    const request = {
      method: 'PUT',
      // Without a type: it is not signed.
      body: file.slice(start, start + size),
      headers: new Headers(),
      ...(signal && { signal }),
    }
    const { ok, status } = await send(url, request, tell).catch((error: unknown) => {
      if (signal?.aborted) throw error
      throw new TypeError('The bucket did not answer. Does its CORS rule allow PUT from this page?', {
        cause: error,
      })
    })
    if (!ok) throw new Error(`The bucket answered ${status} to a part of the file`)
    tell({ loaded: size })
  }
  const rest = parts.values()
  const failures: unknown[] = []
  const lane = async (): Promise<void> => {
    for (const part of rest)
      // After a failure the parts under way are completed, and no other is begun.
      if (failures.length === 0) await sendPart(part).catch((error: unknown) => failures.push(error))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  if (failures.length > 0) throw failures[0]
}
