import { didYouMean } from '../../base/did-you-mean.ts'
import { StartError } from '../../base/start-error.ts'
import type { ConfiguredWire } from './wire.ts'

// A wire's context has these beside the wires that it needs. The last two have tables.
const RESERVED = new Set([
  'db',
  'clock',
  'jobs',
  'events',
  'processes',
  'log',
  'record',
  'settings',
  'policy',
  'metrics',
  'server',
  'sixwire',
  'sandbox',
])

/**
 * Checks an application's own wires as the compiler would; they may be written in plain JavaScript.
 *
 * @throws StartError with what is wrong
 */
export function checkWires(wires: unknown): void {
  if (!Array.isArray(wires)) throw new StartError('wires: write a list, like [loyalty()]')
  for (const wire of wires as readonly unknown[]) {
    if (typeof wire === 'function') throw uncalled(wire)
    const { name, setup, needs, variables } = (wire ?? {}) as Partial<ConfiguredWire>
    if (typeof name !== 'string' || typeof setup !== 'function' || !needs || !variables)
      throw new StartError('wires: one of them is not made by defineWire')
    if (!/^[a-z][a-z\d-]*$/.test(name) || RESERVED.has(name))
      throw new StartError(
        `wires: "${name}" can't be a name: it takes lowercase letters, digits and hyphens, and can't be ${[...RESERVED].join(', ')}`,
      )
  }
}

/** The error line for what defineWire returned, or a function that returns it, without its call. */
function uncalled({ name, wireName }: { name: string; wireName?: unknown }): StartError {
  const called = typeof wireName === 'string' ? wireName : name
  return new StartError(
    called === ''
      ? 'wires: one of them is a function without a name: call it with (), and list what it returns'
      : `wires: ${called} lacks its parentheses: write ${called}(), not ${called}`,
  )
}

/**
 * Orders the wires so that each comes after those that it needs.
 *
 * @throws StartError if one of them is not loaded, or they need each other
 */
export function orderWires(wires: readonly ConfiguredWire[]): ConfiguredWire[] {
  const byName = new Map(wires.map((wire) => [wire.name, wire]))
  if (byName.size < wires.length) {
    const second = wires.find((wire) => byName.get(wire.name) !== wire)!
    throw new StartError(`wires: two wires are called "${second.name}"`)
  }
  const ordered = new Set<ConfiguredWire>()
  const visit = (wire: ConfiguredWire, path: readonly string[]): void => {
    if (path.includes(wire.name)) throw new StartError(`wires: ${[...path, wire.name].join(' needs ')}`)
    for (const { wireName, isOptional } of wire.needs) {
      const needed = byName.get(wireName)
      if (needed) visit(needed, [...path, wire.name])
      else if (!isOptional)
        throw new StartError(
          `SIXWIRE_WIRES: ${wire.name} needs ${wireName}, which is not loaded${didYouMean(wireName, byName.keys()) || ': add it'}`,
        )
    }
    ordered.add(wire)
  }
  for (const wire of wires) visit(wire, [])
  return [...ordered]
}
