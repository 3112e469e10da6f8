import type { Viewer } from '../definition/viewer.ts'

/**
 * The records of files of documents that somebody may read, as JSON, by their ids. A file is shown if one of the fields has taken
 * it, or if they may read it otherwise; what is missing and what is out of reach are left out alike.
 *
 * @param fields the names of the fields that have them, as in `attached_by`
 */
export type ShownFiles = (
  viewer: Viewer,
  ids: readonly string[],
  fields: ReadonlySet<string>,
) => Promise<Map<string, string>>
