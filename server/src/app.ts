import { Coalescer } from './base/coalesce.ts'
import { oneLine } from './base/one-line.ts'
import { within } from './base/within.ts'
import type { App, Instance } from './assemble.ts'
import { createInstance, type AppOptions } from './instance.ts'
import { newestVersion, type StoredSettings } from './kernel/settings/stored-settings.ts'
import type { FailedCheck, SettingChanges } from './wires/core/settings/setting-changes.ts'

export type { App } from './assemble.ts'
export type { AppOptions } from './instance.ts'
export {
  defineConfig,
  loadConfig,
  type CollectionsOf,
  type Config,
  type ScheduleOption,
  type TypedConfig,
} from './wires.ts'

/** How long what is under way with earlier settings may go on beside the later ones. */
const LEAVING_MS = 3_600_000
/** The same with the sandbox, which is one, and is closed before it opens again. */
const SANDBOX_LEAVING_MS = 5_000
const CHECK_MS = 10_000
/** How long a change waits for the other workers of the server. */
const SIBLINGS_MS = 5_000
/** After which time a version that could not be put into force is tried again. */
const AGAIN_MS = 60_000

/**
 * Creates a server from the wires. No port is open before `listen`, and no table exists before `start`.
 *
 * @throws StartError with one line that says what is wrong in the configuration
 * @example
 * const app = await createApp({ config: await loadConfig(process.cwd()) })
 * const url = await app.listen()
 * await app.close()
 */
export async function createApp(options: AppOptions = {}): Promise<App> {
  const live = new LiveApp(options)
  await live.open()
  const own: Partial<App> = {
    listen: () => live.listen(),
    close: () => live.close(),
    outdated: live.outdated,
  }
  // All else is asked of the instance that answers now.
  return new Proxy({} as App, {
    get: (_none, name: keyof App) => own[name] ?? live.current[name],
    has: (_none, name) => name in live.current,
  })
}

/**
 * A server whose settings may change while it runs: then an instance with the new ones takes the place of the one before, as
 * at a restart, but for the port, its connections, and the database, which stay.
 */
class LiveApp {
  readonly outdated: Promise<never>
  readonly #options: AppOptions
  readonly #end: (reason: unknown) => void
  readonly #changes: SettingChanges
  readonly #leaving = new Set<Instance>()
  readonly #reloads = new Coalescer<undefined, undefined>({
    answer: async (calls) => {
      await this.#reload()
      return calls.map(() => undefined)
    },
  })
  #current: Instance | undefined
  #isListening = false
  #closing: Promise<void> | undefined
  #failed: { version: number; until: number; fault: string } | undefined

  constructor(options: AppOptions) {
    this.#options = options
    const { promise, reject } = Promise.withResolvers<never>()
    promise.catch(() => undefined) // only `sixwire start` asks for it
    this.outdated = promise
    this.#end = reject
    const follow = async (): Promise<void> => {
      const reloaded = this.#reloads.call(undefined)
      // The request that asks for it is waited for by the sandbox.
      if (!this.current.settings.sandbox) await reloaded
      else reloaded.catch(() => undefined) // it is logged
    }
    this.#changes = {
      tryOut: (stored, changed) => this.#tryOut(stored, changed),
      follow,
      reload: async () => {
        const others = options.siblings?.ask('settings', null, SIBLINGS_MS)
        await follow()
        await others
      },
      inForce: () => this.current.stored.version,
      fault: () => this.#failed,
    }
  }

  get current(): Instance {
    return this.#current!
  }

  async open(): Promise<void> {
    this.#become(await this.#create())
  }

  async listen(): Promise<string> {
    const address = await this.current.listen()
    this.#isListening = true
    return address
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#reloads.idle()
    const { db, port } = this.current.shared
    await Promise.all([...this.#leaving, this.current].map((one) => one.end()))
    await port.close()
    await db.close()
  }

  #create(stored?: StoredSettings): Promise<Instance> {
    return createInstance(this.#options, {
      shared: this.#current?.shared,
      stored,
      standIns: this.#options.standIns !== false,
      changes: this.#changes,
    })
  }

  #become(next: Instance): void {
    if (this.#current)
      next.log.info({ version: next.stored.version }, 'new settings of the console are in force')
    this.#current = next
    next.outdated.catch(this.#end)
  }

  /** Puts the newest settings into force. */
  async #reload(): Promise<void> {
    if (!this.#isListening || this.#closing) return
    const before = this.current
    let version = 0
    try {
      version = await newestVersion(before.db)
      // An instance that is about to end still sees that there are newer ones.
      if (version === before.stored.version) return void (this.#failed = undefined)
      if (version === this.#failed?.version && performance.now() < this.#failed.until) return
      if (before.settings.sandbox) await this.#replaceAlone(before)
      else await this.#replace(before)
      this.#failed = undefined
    } catch (error) {
      const fault = oneLine((error as Error).message, 500)
      if (fault !== this.#failed?.fault)
        before.log.error({ err: error }, 'the settings of the console could not be put into force')
      this.#failed = { version, until: performance.now() + AGAIN_MS, fault }
      throw error
    }
  }

  /** The next instance answers before the one before ends. */
  async #replace(before: Instance): Promise<void> {
    const next = await this.#create()
    await this.#takeOver(next)
    this.#leaving.add(before)
    before
      .end(LEAVING_MS)
      .catch((error: unknown) =>
        next.log.error({ err: error }, 'a server with earlier settings did not end cleanly'),
      )
      .finally(() => this.#leaving.delete(before))
  }

  /** Requests wait while one instance ends and the next begins: the sandbox has ports and state of its own. */
  async #replaceAlone(before: Instance): Promise<void> {
    before.shared.port.hold()
    await before.end(SANDBOX_LEAVING_MS)
    try {
      await this.#takeOver(await this.#create())
    } catch (error) {
      await this.#takeOver(await this.#create(before.stored)).catch(this.#end)
      throw error
    }
  }

  async #takeOver(next: Instance): Promise<void> {
    try {
      await next.takeOver()
    } catch (error) {
      await next.end()
      throw error
    }
    this.#become(next)
  }

  /** Makes an instance with other settings, asks whether what it names can be reached, and forgets it. */
  async #tryOut(stored: StoredSettings, changed: readonly string[]): Promise<FailedCheck[]> {
    const tried = await createInstance(this.#options, {
      shared: this.current.shared,
      stored,
      standIns: false,
      changes: this.#changes,
    })
    try {
      await tried.refuseFaultyOptions(changed)
      const wires = new Set(changed.map((path) => path.split('.')[0]!))
      const checks = [...tried.checks()]
        .filter(([wire]) => wires.has(wire))
        .flatMap(([wire, ofWire]) => [...ofWire].map(([name, ask]) => ({ name: `${wire}: ${name}`, ask })))
      const failed = await Promise.all(
        checks.map(async ({ name, ask }) => ({ name, fault: await faultOf(ask) })),
      )
      return failed.flatMap(({ name, fault }) => (fault === undefined ? [] : [{ check: name, fault }]))
    } finally {
      await tried.end()
    }
  }
}

/** Why a check fails; undefined if it succeeds. */
async function faultOf(ask: () => Promise<void>): Promise<string | undefined> {
  try {
    await within(CHECK_MS, ask)
    return undefined
  } catch (error) {
    return oneLine(error instanceof Error ? error.message : String(error), 500)
  }
}
