import cluster, { type Worker } from 'node:cluster'
import { isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'

import { asset } from '../../base/asset.ts'
import { StartError } from '../../base/start-error.ts'
import { WORKER_VARIABLE } from '../../kernel/config/config.ts'
import { onPackageManagerEnd } from '../parent.ts'
import { onSignals } from '../signals.ts'
import { closeUnaccepted } from './unaccepted.ts'
import type { FromWorker, ToWorker } from './messages.ts'
import { passLines } from './pass-lines.ts'

/** A whole process group may be sent them: they end a worker that has not begun to handle them. */
const SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT']
/** A worker ends by force before. */
const FORCED_END_MS = 33_000
/** After its end the last lines of a worker may come for so long: a program that it started may have its output, too. */
const LAST_LINES_MS = 1_000
/** Deaths in this time count for the pause before a worker is started again. */
const RECENT_MS = 60_000
const PAUSE_MS = 1_000
const PAUSE_MAX_MS = 30_000

/** The place of a worker, which another one takes when it has ended. */
type Place = {
  readonly index: number
  worker: Worker | undefined
  isReady: boolean
  deaths: number[]
  /** By topics. */
  readonly kept: Map<string, unknown>
}

/** What its workers are started with. */
export type WorkerProgram = {
  /** After `sixwire start`. */
  readonly args: readonly string[]
  /** Those of the first start of all only. */
  readonly firstArgs: readonly string[]
  /** The variables that they read from `.env` themselves. */
  readonly fromFile: readonly string[]
}

/** Runs the workers of a server until a signal, or until all must end. @returns the exit code */
export const superviseWorkers = (count: number, program: WorkerProgram): Promise<number> =>
  new Supervisor(count, program).run()

/**
 * Runs the workers of a server: starts them, spreads connections over them, passes on what they tell each other, starts
 * those again that end, and ends all. It has no database and none of the server's code, so that nothing makes it end.
 * See docs/decisions/130-workers.md.
 */
class Supervisor {
  readonly #places: readonly Place[]
  readonly #program: WorkerProgram
  readonly #over = Promise.withResolvers<number>()
  /** What no worker was there to write. */
  readonly #unwritten: ToWorker[] = []
  #isRunning = false
  #isEnding = false
  #code = 0

  constructor(count: number, program: WorkerProgram) {
    this.#places = Array.from({ length: count }, (_, index) => ({
      index,
      worker: undefined,
      isReady: false,
      deaths: [],
      kept: new Map(),
    }))
    this.#program = program
  }

  run(): Promise<number> {
    if (!cluster.isPrimary)
      throw new StartError(
        '--workers: this process is a worker of another cluster, such as that of pm2: leave --workers and SIXWIRE_WORKERS out, or start it outside of the cluster',
      )
    const end = () => this.#end(0)
    onPackageManagerEnd(end)
    onSignals(SIGNALS, end, () => this.#endByForce())
    this.#start(this.#places[0]!, true)
    return this.#over.promise
  }

  #start(place: Place, isFirst = false): void {
    const { args, firstArgs, fromFile } = this.#program
    cluster.setupPrimary({
      ...programOf(isFirst ? [...args, ...firstArgs] : args),
      // At a terminal its lines are texts, and the system writes each as a whole.
      stdio: ['ignore', process.stdout.isTTY ? 'inherit' : 'pipe', 'inherit', 'ipc'],
    })
    const worker = cluster.fork({
      // See docs/decisions/013-memory.md.
      MALLOC_ARENA_MAX: process.env['MALLOC_ARENA_MAX'] ?? '2',
      ...Object.fromEntries(fromFile.map((name) => [name, undefined])),
      [WORKER_VARIABLE]: `${place.index} ${this.#places.length}${isFirst ? ' first' : ''}`,
    })
    place.worker = worker
    const { stdout } = worker.process
    if (stdout) passLines(stdout, process.stdout)
    const release = closeUnaccepted(worker)
    // Before it can be asked for figures, or its own would replace them.
    if (place.kept.size > 0) send(place, { is: 'inherit', kept: Object.fromEntries(place.kept) })
    worker.on('message', (message: FromWorker) => this.#take(place, message))
    // What it is told when it has just ended.
    worker.on('error', () => undefined)
    worker.process.on('exit', (...cause) => {
      release()
      setTimeout(over, LAST_LINES_MS, ...cause).unref()
    })
    worker.process.on('close', over)
    const hasEnded = this.#hasEnded.bind(this)
    function over(code: number | null, signal: NodeJS.Signals | null): void {
      if (place.worker === worker) hasEnded(place, worker, code, signal)
    }
  }

  #take(place: Place, message: FromWorker): void {
    if (message.is === 'ready') return this.#isReady(place)
    if (message.is === 'outdated') return this.#end(1)
    if (message.is === 'keep') return void place.kept.set(message.topic, message.content)
    if (message.is === 'answer') {
      const { id, to, content } = message
      return send(this.#places[to], { is: 'answer', id, from: place.index, content })
    }
    const others = this.#ready.filter((one) => one !== place)
    if (message.is === 'tell') return others.forEach((one) => send(one, message))
    for (const one of others) send(one, { ...message, from: place.index })
    const kept = this.#places.map((one) => one.kept.get(message.topic) ?? null)
    send(place, { is: 'asked', id: message.id, of: others.length, kept })
  }

  get #ready(): Place[] {
    return this.#places.filter(({ isReady }) => isReady)
  }

  #isReady(place: Place): void {
    place.isReady = true
    for (const message of this.#unwritten.splice(0)) send(place, message)
    if (this.#isRunning || this.#isEnding) return
    // The first one has brought the database up to date, and the others find it so.
    if (place.index === 0) for (const other of this.#places.slice(1)) this.#start(other)
    if (this.#ready.length < this.#places.length) return
    this.#isRunning = true
    send(this.#places[0], { is: 'announce' })
  }

  #hasEnded(
    place: Place,
    { process: { pid } }: Worker,
    code: number | null,
    signal: NodeJS.Signals | null,
  ): void {
    place.worker = undefined
    place.isReady = false
    const cause = signal ?? `code ${code}`
    if (!this.#isRunning && !this.#isEnding) {
      // Of a code it has said why.
      if (signal !== null) console.error(`sixwire: a worker ended by ${signal} while the server started`)
      this.#end(code ?? 1)
    }
    if (this.#isEnding) {
      this.#code ||= code ?? (SIGNALS.includes(signal!) ? 0 : 1)
      if (this.#places.every(({ worker }) => worker === undefined)) this.#over.resolve(this.#code)
      return
    }
    const pause = pauseAfter(place.deaths)
    setTimeout(() => !this.#isEnding && this.#start(place), pause)
    this.#warn(
      { worker: pid, ...(signal === null ? { code } : { signal }) },
      `a worker ended (${cause}): it is started again${pause > 0 ? ` in ${pause / 1_000} s` : ''}`,
    )
  }

  /** Has a line written by a worker: the log is theirs, as it is formatted, filtered and kept. */
  #warn(fields: object, text: string): void {
    const message: ToWorker = { is: 'warn', fields, text }
    const [one] = this.#ready
    if (one) send(one, message)
    else this.#unwritten.push(message)
  }

  /** Ends all. */
  #end(code: number): void {
    this.#code ||= code
    if (this.#isEnding) return
    this.#isEnding = true
    for (const place of this.#places) send(place, { is: 'end' })
    if (this.#places.every(({ worker }) => worker === undefined)) this.#over.resolve(this.#code)
    setTimeout(() => this.#endByForce(), FORCED_END_MS).unref()
  }

  #endByForce(): void {
    for (const { worker } of this.#places) worker?.process.kill('SIGKILL')
    process.exit(1)
  }
}

/** A worker that has just ended hears nothing. */
function send(place: Place | undefined, message: ToWorker): void {
  if (place?.worker?.isConnected()) place.worker.send(message, () => undefined)
}

/** `sixwire start` with these arguments. The program in one file is its own Node, to which a module is a word. */
const programOf = (args: readonly string[]) =>
  isSea()
    ? { exec: 'start', args: [...args], execArgv: [] }
    : { exec: fileURLToPath(asset('../bin/sixwire.js')), args: ['start', ...args] }

/** Enters a death. @returns after how many milliseconds the next one starts: at once, then twice as long each time */
function pauseAfter(deaths: number[]): number {
  const now = performance.now()
  const recent = deaths.filter((at) => now - at < RECENT_MS)
  deaths.splice(0, deaths.length, ...recent, now)
  return recent.length === 0 ? 0 : Math.min(PAUSE_MAX_MS, PAUSE_MS * 2 ** (recent.length - 1))
}
