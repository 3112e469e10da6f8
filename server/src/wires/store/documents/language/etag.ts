import { etagsOf } from '../../../../http/conditions.ts'

/** The ETag of a document: of its version, and of what is shown of it. */
export const etagOf = (version: number, mark = ''): string => `"${version}${mark}"`

/**
 * The versions that a client takes for the current one, from the ETags of its `If-Match`; undefined if it takes any. An ETag
 * of another form is of no version; version 0 is that of what is not there.
 */
export function versionsOf(ifMatch: string | undefined): readonly number[] | undefined {
  const etags = ifMatch === undefined ? '*' : etagsOf(ifMatch)
  if (etags === '*') return undefined
  // A proxy that compresses an answer may weaken its ETag.
  return etags
    .flatMap((etag) => /^(?:W\/)?"(0|[1-9]\d{0,14})(?:-[\d.]+)?"$/.exec(etag)?.[1] ?? [])
    .map(Number)
}
