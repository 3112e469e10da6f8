import { access, open, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'

import { StartError } from '../base/start-error.ts'

/** A file that gets its name once it is whole. */
export type PartFile = { to: string; name: string; file: FileHandle }

/** Begins a file that only its owner can read. @throws StartError if there is one already, or it can't be written */
export async function openPart(to: string): Promise<PartFile> {
  if (to === '-') throw new StartError('- is no file: nothing is written to standard output, name a file')
  await refuseTaken(to)
  const name = `${to}.part`
  try {
    // Never into what is there: it may be a link, or what another command still writes.
    await rm(name, { force: true })
    return { to, name, file: await open(name, 'wx', 0o600) }
  } catch (error) {
    throw fileFault(error, to)
  }
}

/** Gives the file its name, so that it survives a power cut. @throws StartError if that is taken by now */
export async function finishPart(part: PartFile): Promise<void> {
  const { to, name, file } = part
  await file.sync()
  await refuseTaken(to)
  if (!(await hasName(part))) throw new StartError(`another command writes ${to}: name another file`)
  await rename(name, to)
  const folder = await open(dirname(to), 'r').catch(() => undefined)
  await folder?.sync().catch(() => undefined) // not every system can flush a folder
  await folder?.close()
}

/** Removes what has no name. */
export async function closePart(part: PartFile): Promise<void> {
  const isOwn = await hasName(part)
  await part.file.close()
  if (isOwn) await rm(part.name, { force: true })
}

/** Whether its name is not that of the file of a later command. */
async function hasName({ name, file }: PartFile): Promise<boolean> {
  const [own, found] = [
    await file.stat({ bigint: true }),
    await stat(name, { bigint: true }).catch(() => undefined),
  ]
  return own.ino === found?.ino && own.dev === found.dev
}

async function refuseTaken(to: string): Promise<void> {
  const exists = await access(to).then(
    () => true,
    () => false,
  )
  if (exists) throw new StartError(`${to} exists already: name another file`)
}

/** A fault of a file that the operator names, as one line. */
export function fileFault(error: unknown, name: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  return code !== undefined && syscall !== undefined
    ? new StartError(`${name}: ${FAULTS[code] ?? code}`)
    : error
}

const FAULTS: Record<string, string> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'this user may not open it',
  EISDIR: 'it is a folder',
  ENOSPC: 'the disk is full',
}
