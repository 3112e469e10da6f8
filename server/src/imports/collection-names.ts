import { isCollectionName } from '../wires/store/index.ts'

/** The names that collections of another system have here: their own, or the nearest that a collection can have. */
export type CollectionNames = {
  /** The same for the same name; no two names become one. */
  of(name: string): string
  /** A line for each name that is another one here. */
  notes(): string[]
}

export function createCollectionNames(): CollectionNames {
  const names = new Map<string, string>()
  return {
    of(name) {
      const known = names.get(name)
      if (known !== undefined) return known
      const taken = new Set(names.values())
      const given = candidatesOf(name).find((one) => isCollectionName(one) && !taken.has(one))!
      names.set(name, given)
      return given
    },
    notes: () =>
      [...names]
        .filter(([name, given]) => name !== given)
        .map(([name, given]) => `${name} is called ${given} here: no collection can have its name`),
  }
}

function* candidatesOf(name: string): Generator<string> {
  yield name
  const plain = name.replaceAll(/[^\w-]/g, '_').replace(/^[^a-zA-Z]+/, '')
  yield plain
  for (let n = 1; ; n++) yield `${(plain || 'collection').slice(0, 50)}_${n}`
}
