import type { ArchiveSummary } from './backup-rows.ts'
import type { WireContext } from '../../../kernel/wire.ts'
import type { NewObject, Objects } from '../objects/objects.ts'

/** How far a long operation is. */
export type Progress = { phase: string; done: number; total: number; unit: 'bytes' | 'documents' }

/** A backup cannot be made, with a sentence for the operator. */
export class BackupFault extends Error {
  override name = 'BackupFault'
}

/** Writes the archive of a backup into the backups storage; it is deleted unless it is claimed. */
export type WriteArchive = (
  id: string,
  options: { signal: AbortSignal; onProgress?: (progress: Progress) => void },
) => Promise<{ archive: NewObject; summary: ArchiveSummary }>

export function createArchive(_context: Pick<WireContext, 'db' | 'clock'> & { objects: Objects }): WriteArchive {
  return async () => {
    throw new BackupFault('Backups are not made yet.')
  }
}
