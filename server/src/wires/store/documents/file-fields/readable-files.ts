import { ApiError } from '../../../../base/errors.ts'
import { allRows } from '../../../../base/row-filter.ts'
import type { Caller } from '../../../../http/access.ts'
import type { Viewer } from '../definition/viewer.ts'
import { includesFile, type FilesAccess, type FilesRowFilter, type OwnedFile } from './file-access.ts'
import type { FileUses } from './file-uses.ts'

/** Which files somebody may read: their own, those of the rule or policy, and those of documents that they may read. */
export function createReadableFiles({
  access,
  uses,
  viewerOf,
}: {
  access: FilesAccess
  uses: FileUses
  viewerOf: (caller: Caller | undefined) => Viewer
}) {
  function rowFilterOf(viewer: Viewer, action: 'read' | 'update'): FilesRowFilter {
    if (viewer.isPrivileged) return allRows
    const rowFilter = ownFilter(access, viewer.caller, action)
    return rowFilter instanceof ApiError ? { rows: 'none' } : rowFilter
  }
  const has = async (viewer: Viewer, file: OwnedFile): Promise<boolean> =>
    includesFile(rowFilterOf(viewer, 'read'), file) ||
    (file.attached_by !== null && uses.isShownTo(viewer, file))
  return {
    /** Whether somebody may read a file. */
    has,
    /**
     * The files that they may give to a document, which decides from then on who reads it, may make it public, keeps it from being
     * deleted, and has it deleted once it leaves: that takes the right to change the file.
     */
    giveable: (viewer: Viewer): FilesRowFilter => rowFilterOf(viewer, 'update'),
    /**
     * A file, if somebody may read it.
     *
     * @param file undefined if there is none
     * @param otherwise makes the error, unless it is that nobody is signed in
     * @throws UNAUTHORIZED, FORBIDDEN, that of `otherwise`
     */
    async require<F extends OwnedFile>(
      caller: Caller | undefined,
      file: F | undefined,
      otherwise: () => ApiError,
    ): Promise<F> {
      if (file && (await has(viewerOf(caller), file))) return file
      const rowFilter = ownFilter(access, caller, 'read')
      throw rowFilter instanceof ApiError ? rowFilter : otherwise()
    },
  }
}

export type ReadableFiles = ReturnType<typeof createReadableFiles>

/** What they may read or change by themselves, or why nothing: a document may show it nevertheless. */
function ownFilter(
  access: FilesAccess,
  caller: Caller | undefined,
  action: 'read' | 'update',
): FilesRowFilter | ApiError {
  try {
    return access.rowFilter(caller, action)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}
