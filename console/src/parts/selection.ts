import { useState } from 'preact/hooks'

/** The rows that are marked, by their ids. */
export type Selection = {
  ids: ReadonlySet<string>
  /** Marks a row or takes the mark away; `isRange` marks all rows between the last one and this. */
  mark: (id: string, isRange?: boolean) => void
  markAll: () => void
  clear: () => void
}

/** @param order the ids of all rows as they are shown */
export function useSelection(order: readonly string[]): Selection {
  const [{ ids, last }, setState] = useState<{ ids: ReadonlySet<string>; last: string | undefined }>({
    ids: new Set(),
    last: undefined,
  })
  function mark(id: string, isRange = false): void {
    const next = new Set(ids)
    const from = isRange && last !== undefined ? order.indexOf(last) : -1
    if (from >= 0) {
      const to = order.indexOf(id)
      for (const one of order.slice(Math.min(from, to), Math.max(from, to) + 1)) next.add(one)
    } else if (!next.delete(id)) next.add(id)
    setState({ ids: next, last: id })
  }
  return {
    ids,
    mark,
    markAll: () => setState({ ids: ids.size === order.length ? new Set() : new Set(order), last: undefined }),
    clear: () => setState({ ids: new Set(), last: undefined }),
  }
}
