import { createReadStream } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { join, resolve, sep } from 'node:path'
import type { Readable } from 'node:stream'

import { ApiError, invalid } from '../base/errors.ts'
import { PendingPromises } from '../base/pending-promises.ts'
import { messageOf, type FileImports } from '../wires/store/index.ts'
import type { FileMap } from './file-map.ts'

/** Files that are read and stored at once. */
const AT_ONCE = 4

/** What a name or a link can cause, beside the file itself. */
const OF_ONE_FILE = ['ENOENT', 'EACCES', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP']

/** A file of another system. */
export type SourceFile = {
  /** Its address there, which the map has. */
  readonly from: string
  /** Its id, if it is from an installation of Sixwire. Default: a new one. */
  readonly id?: string | undefined
  readonly name: string
  /** Default: what its name says. */
  readonly contentType?: string | undefined
  /** The account that it belongs to. Default: none. */
  readonly owner?: string | undefined
  readonly metadata?: Record<string, unknown> | undefined
  /** Its bytes, with their number, and its time in milliseconds since 1970. An ApiError, ENOENT, EACCES and the like refuse this file only. */
  open(): Promise<FileContent>
}
export type FileContent = { readonly size: number; readonly modifiedAt: number; readonly stream: Readable }

/** A file that is refused, and why. */
export type RefusedFile = { readonly from: string; readonly code: string; readonly message: string }

export type FilesReport = {
  stored: number
  /** Named by the map already. */
  present: number
  failed: number
  /** Of those that are stored. */
  bytes: number
}

/** Receives the progress and the refusals. */
export type FilesWatch = {
  refused(file: RefusedFile): void
  /** A file is done. */
  counted(report: FilesReport): void
}

/** The content of a file of this machine. */
export async function contentAt(path: string): Promise<FileContent> {
  const { size, mtimeMs } = await stat(path)
  return { size, modifiedAt: Math.floor(mtimeMs), stream: createReadStream(path) }
}

/**
 * The content of a file in a folder. Names and links are those of a stranger: what is outside of the folder is never read.
 *
 * @param path of the file in the folder
 * @throws VALIDATION_ERROR; ENOENT, EACCES
 */
export async function contentIn(folder: string, path: string): Promise<FileContent> {
  if (path.includes('\0')) throw invalid({ path: '/path', message: 'has the character U+0000' })
  const refuseOutside = (root: string, file: string): void => {
    if (!file.startsWith(root.endsWith(sep) ? root : root + sep))
      throw invalid({ path: '/path', message: 'leads out of the folder' })
  }
  refuseOutside(resolve(folder), resolve(folder, `./${path}`))
  const file = await realpath(join(folder, path))
  refuseOutside(await realpath(folder), file)
  if (!(await stat(file)).isFile()) throw invalid({ path: '/path', message: 'is no file' })
  return contentAt(file)
}

/**
 * Stores files, some at a time, each with its line in the map; those that the map has are left out. No more of them are stored once
 * one has failed with an error that is not about it.
 *
 * @param fileImports undefined in a dry run: then each is opened only
 */
export async function storeFiles(
  fileImports: FileImports | undefined,
  files: AsyncIterable<SourceFile> | Iterable<SourceFile>,
  map: Pick<FileMap, 'addressOf' | 'add'>,
  watch: FilesWatch,
): Promise<FilesReport> {
  const { default: mime } = await import('mime/lite')
  const report: FilesReport = { stored: 0, present: 0, failed: 0, bytes: 0 }
  async function store(file: SourceFile): Promise<void> {
    const { id, from, name, contentType, owner, metadata = {} } = file
    let content: FileContent | undefined
    try {
      content = await file.open()
      const type = contentType ?? mime.getType(name) ?? undefined
      const to = await fileImports?.add({ id, from, name, contentType: type, owner, metadata, ...content })
      if (to !== undefined) await map.add(from, to)
      report.stored++
      report.bytes += content.size
    } catch (error) {
      watch.refused({ from, ...faultOf(error) })
      report.failed++
    } finally {
      content?.stream.destroy()
    }
  }
  const pending = new PendingPromises()
  const failures: unknown[] = []
  for await (const file of files) {
    while (pending.size >= AT_ONCE) await pending.next()
    if (failures.length > 0) break
    if (map.addressOf(file.from) !== undefined) report.present++
    else void pending.add(store(file).catch((error: unknown) => void failures.push(error)))
    watch.counted(report)
  }
  await pending.idle()
  if (failures.length > 0) throw failures[0]
  watch.counted(report)
  return report
}

/** What is wrong with one file. @throws the error if it is not about the file */
function faultOf(error: unknown): Omit<RefusedFile, 'from'> {
  const { code, message, status = 400 } = error as { code?: string; message: string; status?: number }
  const isOfFile = (error instanceof ApiError && status < 500) || OF_ONE_FILE.includes(code ?? '')
  if (!isOfFile) throw error
  return { code: code!, message: error instanceof ApiError ? messageOf(error) : message }
}
