/*
 * What a reader chooses for each collection, kept in this browser: columns, and filters with a name.
 */

/** A filter and sort under a name. */
export type SavedView = {
  readonly name: string
  readonly query: string
  readonly columns: readonly string[] | undefined
}

type Choices = { columns?: readonly string[] | undefined; views?: readonly SavedView[] | undefined }

const keyOf = (collection: string): string => `sixwire console: data ${collection}`

export function choicesOf(collection: string): Choices {
  try {
    return (JSON.parse(localStorage.getItem(keyOf(collection)) ?? '{}') ?? {}) as Choices
  } catch {
    return {}
  }
}

export function keepChoices(collection: string, changed: Choices): void {
  try {
    localStorage.setItem(keyOf(collection), JSON.stringify({ ...choicesOf(collection), ...changed }))
  } catch {
    // The storage is full or switched off: the choice holds until the page is left.
  }
}
