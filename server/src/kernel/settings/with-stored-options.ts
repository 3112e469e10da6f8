import { StartError } from '../../base/start-error.ts'
import { isPlain } from '../config/fields.ts'
import { setAt } from '../config/option-path.ts'
import { optionNamedBy, WEBHOOKS, type Settable } from './settable-options.ts'
import type { StoredOptions } from './stored-settings.ts'

/**
 * A configuration with the stored options below it: what the file or the environment sets wins.
 *
 * @returns the paths that are in force as well
 */
export function withStoredOptions<C extends object>(
  config: C,
  settable: Settable,
  stored: StoredOptions,
): { config: C; inForce: ReadonlySet<string> } {
  const copy: C & { webhooks?: unknown } = copyOf(config)
  const inForce = new Set<string>()
  const webhooks: object[] = []
  for (const [path, value] of Object.entries(stored)) {
    const option = settable.at(path)
    if (!option || option.lockedBy !== undefined) continue
    if (path.startsWith(WEBHOOKS)) webhooks.push({ ...(value as object), name: path.slice(WEBHOOKS.length) })
    else setAt(copy, path, value)
    inForce.add(path)
  }
  if (webhooks.length > 0) copy.webhooks = [...((copy.webhooks as object[] | undefined) ?? []), ...webhooks]
  return { config: copy, inForce }
}

/** An error of a configuration with stored options; if it names one of them, it says how to go on without it. */
export function withStoredCause(error: unknown, settable: Settable, inForce: ReadonlySet<string>): unknown {
  if (!(error instanceof StartError)) return error
  const stored = [...inForce].flatMap((path) => settable.at(path) ?? [])
  const path = optionNamedBy(error.message, stored)?.option.path
  if (path === undefined) return error
  return new StartError(
    `${error.message} (it is set in the console: sixwire config --forget ${path} gives it up)`,
    { cause: error },
  )
}

/** A copy of what is written as plain objects; what an application has made stays the same. */
function copyOf<T>(value: T): T {
  if (!isPlain(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copyOf(one)])) as T
}
