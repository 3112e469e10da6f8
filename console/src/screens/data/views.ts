/*
 * What a reader chooses for each collection, kept in this browser: columns, filters with a name, and plots.
 */

/** A filter and sort under a name. */
export type SavedView = {
  readonly name: string
  readonly query: string
  readonly columns: readonly string[] | undefined
}

/** A picture of the collection. */
export type SavedPlot = {
  readonly measure: 'count' | 'sum' | 'average'
  /** Of a sum or an average. */
  readonly field?: string | undefined
  readonly by: string
  /** Of times; empty: each value is a bar. */
  readonly slot: '' | 'hour' | 'day' | 'week' | 'month'
}

type Choices = {
  columns?: readonly string[] | undefined
  views?: readonly SavedView[] | undefined
  plots?: readonly SavedPlot[] | undefined
}

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
