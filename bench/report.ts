import type { BackupsResult } from './backups.ts'
import type { ChainsResult } from './chains.ts'
import type { FairResult, Seen } from './fair.ts'
import type { FilesResult } from './files.ts'
import { chainsTables } from './report-chains.ts'
import { backupTables } from './report-backups.ts'
import { filesTables } from './report-files.ts'
import type { JobsResult } from './jobs.ts'
import type { Machine } from './machine.ts'
import type { MailResult } from './mail.ts'
import type { LoadName, Options } from './options.ts'
import type { Measured } from './pairs.ts'
import { payTables } from './report-pay.ts'
import type { PayResult } from './pay.ts'
import type { QueriesResult } from './queries.ts'
import { queriesTables } from './report-queries.ts'
import { fine, reached, table, whole } from './report-table.ts'
import type { ScaleResult } from './scale.ts'
import type { SignInResult } from './signin.ts'
import type { StartResult } from './start.ts'
import type { TimingResult } from './timing.ts'
import type { WorkloadResults } from './workloads.ts'

/** What the run measured, as it is written to the JSON file. */
export type Results = {
  at: string
  machine: Machine
  load: string
  options: Omit<Options, 'json'>
  workloads?: WorkloadResults
  scale?: ScaleResult
  signin?: SignInResult
  fair?: FairResult
  queries?: QueriesResult
  start?: StartResult
  mail?: MailResult
  timing?: TimingResult
  jobs?: JobsResult
  pay?: PayResult
  chains?: ChainsResult
  backups?: BackupsResult
  files?: FilesResult
  faults: string[]
}

const titles: Record<LoadName, string> = {
  get: 'get by id',
  list: 'list 20 with total',
  filter: 'list 20 of the 1 % that match',
  create: 'create',
}

// The figures to reach.
const RATIOS: Record<Options['engine'], Partial<Record<LoadName, number>>> = {
  sqlite: { get: 0.6, list: 0.6, create: 0.6 },
  postgres: { get: 0.6, list: 0.6, create: 0.5 },
}
const MEMORY_MB = 150
const SCALE = 1.3
const SIGN_IN_FACTOR = 3
const FAIR_LIST_MS = 50
const FAIR_FACTOR = 3
const FAIR_MEMORY_MB = 400
const START_MS = 500
const MAIL_RATIO = 0.7
const TIMING_FACTOR = 1.3

function workloadTables(
  { workloads, memory }: WorkloadResults,
  subject: string,
  engine: Options['engine'],
): string[] {
  const head = ['', 'connections', 'floor req/s', 'p50 ms', 'p99 ms', `${subject} req/s`, 'p50 ms', 'p99 ms']
  // Where a round ends before most connections had an answer, its latencies are only those of the lucky ones.
  const tooFew = ({ rounds }: Measured, connections: number) =>
    rounds.some((r) => r.requests < 3 * connections)
  const rows = workloads.map(({ name, connections, first, second, ratio, ratios }) => {
    const goal = RATIOS[engine][name]
    const latency = (side: Measured, ms: number) => (tooFew(side, connections) ? '-' : fine(ms))
    return [
      titles[name],
      String(connections),
      ...[first, second].flatMap((side) => [
        whole(side.perSecond),
        latency(side, side.p50),
        latency(side, side.p99),
      ]),
      fine(ratio),
      `${fine(Math.min(...ratios))}-${fine(Math.max(...ratios))}`,
      goal === undefined ? '' : reached(ratio >= goal, `≥ ${goal}`),
    ]
  })
  const speed = table([[...head, 'ratio', 'of rounds', 'to reach'], ...rows])
  const { floor, subject: other } = memory
  if (floor === undefined || other === undefined) return [speed]
  return [
    speed,
    table([
      ['resident memory', 'at most MB', 'after the run MB', 'to reach'],
      ['floor', whole(floor.peakMB), whole(floor.nowMB), ''],
      [subject, whole(other.peakMB), whole(other.nowMB), reached(other.nowMB < MEMORY_MB, `< ${MEMORY_MB}`)],
    ]),
  ]
}

function scaleTable({ many, few, connections, first, second, ratio }: ScaleResult): string {
  const row = (documents: number, { perSecond, p50, p99 }: typeof first) => [
    `get by id among ${whole(documents)} documents`,
    String(connections),
    whole(perSecond),
    fine(p50),
    fine(p99),
  ]
  return table([
    ['', 'connections', 'req/s', 'p50 ms', 'p99 ms', 'cost of one', 'to reach'],
    [...row(few, second), '1', ''],
    [...row(many, first), fine(ratio), reached(ratio <= SCALE, `≤ ${SCALE}`)],
  ])
}

function signInTable({ signIns, seconds, before, during, factor }: SignInResult): string {
  const factors = [factor.p50, factor.p99].map((f) =>
    reached(f <= SIGN_IN_FACTOR, `${fine(f)}: ≤ ${SIGN_IN_FACTOR}`),
  )
  return table([
    ['/health', 'samples', 'p50 ms', 'p99 ms'],
    ['before', whole(before.samples), fine(before.p50), fine(before.p99)],
    [
      `during ${signIns} sign-ins (${fine(seconds)} s)`,
      whole(during.samples),
      fine(during.p50),
      fine(during.p99),
    ],
    ['factor', '', ...factors],
  ])
}

function fairTable({ quiet, attacked, memory, disconnected }: FairResult): string {
  const row = (name: string, call: keyof Seen, target: (quietP99: number) => number, goal: string) => [
    name,
    ...[quiet, attacked].flatMap((seen) => [fine(seen[call].p50), fine(seen[call].p99)]),
    reached(attacked[call].p99 <= target(quiet[call].p99), goal),
  ]
  const times = (p99: number) => FAIR_FACTOR * p99
  const memoryRow = (name: string, megabytes = NaN) => [
    name,
    '',
    '',
    '',
    whole(megabytes),
    reached(megabytes <= FAIR_MEMORY_MB, `≤ ${FAIR_MEMORY_MB}`),
  ]
  return table([
    ['attack on lists', 'quiet p50 ms', 'quiet p99 ms', 'p50 ms', 'p99 ms', 'to reach'],
    row('list 20 by an index', 'list', () => FAIR_LIST_MS, `≤ ${FAIR_LIST_MS}`),
    row('/health', 'health', times, `≤ ${FAIR_FACTOR} times`),
    row('sign-in', 'signIn', times, `≤ ${FAIR_FACTOR} times`),
    memoryRow('memory, MB', memory.attack),
    memoryRow(
      `${disconnected.clients} clients that never read, gone after ${whole(disconnected.seconds)} s, MB`,
      memory.unread,
    ),
  ])
}

function startTable({ documents, floor, subject: other }: StartResult, subject: string): string {
  const row = (name: string, { median, times }: typeof floor) => [
    name,
    whole(median),
    whole(Math.min(...times)),
    whole(Math.max(...times)),
  ]
  return table([
    [`start to ready, ${whole(documents)} documents`, 'median ms', 'least', 'most', 'to reach'],
    [...row('floor', floor), ''],
    [...row(subject, other), reached(other.median < START_MS, `< ${START_MS}`)],
  ])
}

function mailTable(
  { connections, bare, subject: other, ratio, ratios }: MailResult,
  subject: string,
): string {
  const range = `${fine(Math.min(...ratios))}-${fine(Math.max(...ratios))}`
  return table([
    [`mails over ${connections} connections`, 'a second', 'ratio', 'of rounds', 'to reach'],
    ['nodemailer used bare', whole(bare), '1', '', ''],
    [subject, whole(other), fine(ratio), range, reached(ratio >= MAIL_RATIO, `≥ ${MAIL_RATIO}`)],
  ])
}

const timingTable = ({ samples, rows }: TimingResult): string =>
  table([
    [
      `${samples} calls each`,
      'known p50 ms',
      'p99 ms',
      'unknown p50 ms',
      'p99 ms',
      'factor of p99',
      'of noise',
      'to reach',
    ],
    ...rows.map(({ name, known, unknown, factor, noise }) => [
      name,
      ...[known, unknown].flatMap(({ p50, p99 }) => [fine(p50), fine(p99)]),
      fine(factor),
      fine(noise),
      reached(factor <= TIMING_FACTOR, `≤ ${TIMING_FACTOR}`),
    ]),
  ])

const jobsTable = ({ rows }: JobsResult): string =>
  table([
    ['background jobs of one process', 'a second', 'of rounds'],
    ...rows.map(({ name, perSecond, rounds }) => [
      name,
      whole(perSecond),
      `${whole(Math.min(...rounds))}-${whole(Math.max(...rounds))}`,
    ]),
  ])

/** The figures as Markdown: readable in a terminal, and ready for `docs/performance.md`. */
export function report({
  machine,
  load,
  options,
  workloads,
  scale,
  signin,
  fair,
  queries,
  start,
  mail,
  timing,
  jobs,
  pay,
  chains,
  backups,
  files,
}: Results): string {
  const subject = options.self ? 'floor again' : 'Sixwire'
  const { processor, cores, memoryGB, system, node, fileSystem, flushMs } = machine
  const parts = [
    `${processor}, ${cores} cores shared by server and load, ${memoryGB} GB, ${system}, Node ${node};\n` +
      `${fileSystem}, a flush takes ${fine(flushMs)} ms; ${options.engine}${options.delay > 0 ? ` ${options.delay} ms away` : ''}, policy ${options.policy}; ` +
      `load by ${load}, ${options.rounds} rounds of ${options.seconds} s each, medians; ` +
      `${whole(options.documents)} documents of about 200 bytes`,
  ]
  if (workloads) parts.push(...workloadTables(workloads, subject, options.engine))
  if (scale) parts.push(scaleTable(scale))
  if (signin) parts.push(signInTable(signin))
  if (fair) parts.push(fairTable(fair))
  if (queries) parts.push(...queriesTables(queries, options.engine))
  if (start) parts.push(startTable(start, subject))
  if (mail) parts.push(mailTable(mail, subject))
  if (timing) parts.push(timingTable(timing))
  if (jobs) parts.push(jobsTable(jobs))
  if (pay) parts.push(...payTables(pay, subject))
  if (files) parts.push(...filesTables(files, subject))
  if (chains) parts.push(...chainsTables(chains, subject))
  if (backups) parts.push(...backupTables(backups, options.engine))
  return parts.join('\n\n')
}
