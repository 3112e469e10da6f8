import type { Listener } from './process.ts'

/** What the command line asks for. */
export type Settings = {
  readonly engine: 'sqlite' | 'postgres'
  /** The names of the scenarios to run. */
  readonly only: readonly string[]
  readonly documents: number
  readonly connections: readonly number[]
  /** Event streams that are open at a time. */
  readonly streams: number
  /** A program of PocketBase, a peer of its realtime; it is no part of the project. */
  readonly pocketbase: string | undefined
  /** Length of a round. */
  readonly seconds: number
  readonly rounds: number
  /** Small sizes, to see that every scenario works: its figures say nothing. */
  readonly isQuick: boolean
}

/** A server in a process of its own, and a caller who is signed in there. */
export type Server = Listener & {
  readonly base: string
  /** Empty for a caller without one. */
  readonly token: string
  readonly databaseUrl: string
}
export type Program = 'sixwire' | 'floor'

/** How a server is started. */
export type Start = {
  readonly environment?: Record<string, string>
  /** Of Sixwire: what sixwire.config.ts exports. */
  readonly config?: object
  /** Makes the caller an administrator. */
  readonly isAdmin?: boolean
}

/** What a scenario works with. */
export type Bench = {
  readonly settings: Settings
  /** Removed at the end. */
  readonly folder: string
  /** Prints a line of progress. */
  readonly note: (text: string) => void
  /** Says that figures do not count, and why. */
  readonly fault: (text: string) => void
  /** Runs at the end of the scenario. */
  readonly after: (work: () => unknown) => void
  /** Starts a server on the database of that name, which is created if there is none. It stops after the scenario. */
  readonly open: (program: Program, database: string, start?: Start) => Promise<Server>
}

/** What one round measured, by its name with the unit, such as `p99 ms`. */
export type Figures = Readonly<Record<string, number>>

/** A figure of Sixwire beside that of its peer, one value a round. */
export type Row = {
  readonly name: string
  /** Name and unit. */
  readonly figure: string
  readonly peer: string
  readonly peerValues: readonly number[]
  readonly values: readonly number[]
}

/** One subject: what it prepares, and the figures of it. A file of `scenarios/` exports one as its default. */
export type Scenario<Prepared = unknown> = {
  readonly name: string
  readonly summary: string
  prepare(bench: Bench): Promise<Prepared>
  run(bench: Bench, prepared: Prepared): AsyncIterable<Row>
}

/** Checks that `run` takes what `prepare` answers. */
export const defineScenario = <Prepared>(scenario: Scenario<Prepared>): Scenario<Prepared> => scenario
