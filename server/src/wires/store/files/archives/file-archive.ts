import type { Readable } from 'node:stream'

import { uniqueNames } from './file-names.ts'

/** A file of an archive. */
export type FileToArchive = {
  readonly original_name: string
  readonly size: number
  /** Milliseconds since 1970. */
  readonly created_at: number
}

/**
 * A zip archive of files, which are read one after the other as the archive is. They are not compressed, so that its size is
 * known: what has most bytes, images, videos and documents of office programs, is compressed already.
 *
 * @param open opens a file; of the first one it is called before this resolves, so that its error is thrown
 * @returns the archive, whose stream fails with what `open` or a file throws
 */
export async function archiveOf<F extends FileToArchive>(
  files: readonly F[],
  open: (file: F) => Promise<Readable>,
): Promise<{ size: number; stream: Readable }> {
  // Loaded at the first archive.
  const { ZipFile } = await import('yazl')
  const zip = new ZipFile()
  const stream = zip.outputStream as Readable
  const nameOf = uniqueNames()
  let current: Readable | undefined
  const first = files[0] && (await open(files[0]))
  const fail = (error: Error) => void stream.destroy(error)
  stream.once('close', () => {
    first?.destroy()
    current?.destroy()
  })
  async function openNext(file: F): Promise<Readable> {
    current = file === files[0] ? first! : await open(file)
    // If the client goes away meanwhile, nothing reads it.
    if (stream.destroyed) current.destroy()
    return current.once('error', fail)
  }
  async function openFor(file: F, done: (error: null, bytes: Readable) => void): Promise<void> {
    try {
      done(null, await openNext(file))
    } catch (error) {
      fail(error as Error)
    }
  }
  zip.on('error', fail)
  for (const file of files)
    zip.addReadStreamLazy(
      nameOf(file.original_name),
      { size: file.size, mtime: new Date(file.created_at), compress: false },
      (done) => void openFor(file, done),
    )
  const size = await new Promise<number>((resolve) => {
    // Its types leave the size out.
    zip.end(undefined, resolve as () => void)
  })
  return { size, stream }
}
