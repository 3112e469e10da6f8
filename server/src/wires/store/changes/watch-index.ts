import { allValuesAt } from '../documents/language/fields/field-path.ts'
import type { Json } from '../documents/language/query/filter.ts'
import type { LoggedChange, State } from './logged-change.ts'
import { termsOf, type WatchTerm, type DocumentWatch } from './watch.ts'

/** The members that watch the same, and so receive the same events. */
export type WatchGroup<Member> = { readonly watch: DocumentWatch; readonly members: Set<Member> }

/** Watches of one collection: by the values that a document must have to be in them, and those without such values. */
type CollectionWatches<Member> = {
  readonly byPath: Map<string, { path: WatchTerm['path']; byValue: Map<unknown, Set<WatchGroup<Member>>> }>
  readonly others: Set<WatchGroup<Member>>
}

/** Finds the watches that a change may concern without looking at all of them. */
export class WatchIndex<Member> {
  readonly #groups = new Map<string, WatchGroup<Member>>()
  readonly #collections = new Map<string, CollectionWatches<Member>>()

  /** The collections that are watched. */
  collections(): Iterable<string> {
    return this.#collections.keys()
  }

  add(watch: DocumentWatch, member: Member): void {
    let group = this.#groups.get(watch.name)
    if (!group) {
      group = { watch, members: new Set() }
      this.#groups.set(watch.name, group)
      for (const place of this.#placesOf(watch)) place.add(group)
    }
    group.members.add(member)
  }

  remove(watch: DocumentWatch, member: Member): void {
    const group = this.#groups.get(watch.name)
    if (!group?.members.delete(member) || group.members.size > 0) return
    this.#groups.delete(watch.name)
    for (const place of this.#placesOf(watch)) place.delete(group)
    this.#tidy(watch)
  }

  /** Those whom a change may concern: all whom it does concern are among them. */
  near(change: LoggedChange): Iterable<WatchGroup<Member>> {
    const watches = this.#collections.get(change.collection)
    if (!watches) return []
    if (watches.byPath.size === 0) return watches.others
    const candidates = new Set(watches.others)
    const states = change.now ? [change.now, ...change.before] : change.before
    for (const { path, byValue } of watches.byPath.values())
      for (const state of states)
        for (const value of valuesOf(state, path))
          for (const group of byValue.get(value) ?? []) candidates.add(group)
    return candidates
  }

  #placesOf(watch: DocumentWatch): Set<WatchGroup<Member>>[] {
    const watches = entryOf(this.#collections, watch.collection, () => newWatches<Member>())
    const terms = termsOf(watch)
    if (!terms) return [watches.others]
    return terms.flatMap(({ path, values }) => {
      const { byValue } = entryOf(watches.byPath, keyOf(path), () => ({
        path,
        byValue: new Map<unknown, Set<WatchGroup<Member>>>(),
      }))
      return values.map((value) => entryOf(byValue, value, () => new Set<WatchGroup<Member>>()))
    })
  }

  /** Removes what is empty. */
  #tidy(watch: DocumentWatch): void {
    const watches = this.#collections.get(watch.collection)!
    for (const { path, values } of termsOf(watch) ?? []) {
      // Two alternatives of a rule may ask for the same field.
      const byValue = watches.byPath.get(keyOf(path))?.byValue
      for (const value of values) if (byValue?.get(value)?.size === 0) byValue.delete(value)
      if (byValue?.size === 0) watches.byPath.delete(keyOf(path))
    }
    if (watches.byPath.size + watches.others.size === 0) this.#collections.delete(watch.collection)
  }
}

const newWatches = <Member>(): CollectionWatches<Member> => ({ byPath: new Map(), others: new Set() })

/** The entry of a map, which is made if there is none. */
function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

const keyOf = (path: WatchTerm['path']): string => (path === 'owner' ? path : JSON.stringify(path))

/** The values at a path, and those that the path may lead to in arrays: some may be no values of the path. */
function valuesOf(state: State, path: WatchTerm['path']): Iterable<unknown> {
  if (path === 'owner') return [state.owner]
  const values = new Set<unknown>()
  for (const { value } of allValuesAt(state.json(), path)) collect(value, values)
  return values
}

function collect(value: Json, values: Set<unknown>): void {
  if (Array.isArray(value)) for (const one of value as readonly Json[]) collect(one, values)
  else values.add(value)
}
