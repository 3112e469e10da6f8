import { parseArgs } from 'node:util'

// In the order that they run: create comes last because it changes how many documents there are.
export const loadNames = ['get', 'list', 'filter', 'create'] as const
export const scenarioNames = [
  ...loadNames,
  'scale',
  'signin',
  'fair',
  'queries',
  'start',
  'mail',
  'timing',
  'jobs',
  'pay',
  'chains',
  'backups',
  'files',
] as const
export type LoadName = (typeof loadNames)[number]
export type ScenarioName = (typeof scenarioNames)[number]

export type Options = {
  only: ScenarioName[]
  seconds: number
  rounds: number
  documents: number
  connections: number[]
  engine: 'sqlite' | 'postgres'
  /** Milliseconds between a server and its PostgreSQL. */
  delay: number
  policy: 'open' | 'guarded'
  load: 'wrk' | 'autocannon' | undefined
  self: boolean
  json: string
}

const help = `Measures Sixwire against the floor: the least that a Node process can do for the same requests.

  npm run bench                       get, list, filter and create
  npm run bench -- --only get,create  only some of them
  npm run bench -- --only scale       does a get cost more among many documents
  npm run bench -- --only signin      does /health stay quick during 50 sign-ins at once
  npm run bench -- --only fair        what others see while one user attacks with costly lists
  npm run bench -- --only queries     lists with and without indexes, against the same written by hand in SQL
  npm run bench -- --only start       time from start to ready
  npm run bench -- --only mail        mails a second through SMTP, against nodemailer used bare
  npm run bench -- --only jobs        background jobs a second, in a long queue and in many lanes
  npm run bench -- --only pay         checkouts and webhooks a second, and pages of 1,000,000 transactions
  npm run bench -- --only chains      transfers, contract reads, and watching payments on a chain
  npm run bench -- --only backups     documents a second of a backup and a restore, and the creates meanwhile
  npm run bench -- --only files       uploads and downloads, against a bare server that writes to disk
  npm run bench -- --only timing      does the time of an answer tell whether an address has an account

  --documents N       how many are there before the measuring begins (100000); scale compares N/10 with 10 N, queries takes 10 N and N
  --connections N,N   open at a time (32,128)
  --seconds N         length of a round (3)
  --rounds N          rounds for each server, taken in turn (5)
  --engine NAME       sqlite or postgres (sqlite)
  --delay MS          so much longer takes a round trip to PostgreSQL, as over a network (0)
  --policy NAME       guarded or open (guarded, as in production)
  --load NAME         wrk or autocannon (wrk where it is installed)
  --self              the floor against itself: shows how far this machine's noise goes
  --json FILE         where the figures go (bench/results/latest.json)

SIXWIRE_BENCH_POSTGRES=postgres://… uses that server: pg_dump, to which backups are compared, refuses a newer one.
`

/** A command line that cannot work; the message says which word and why. */
export class UsageError extends Error {
  override name = 'UsageError'
}

function whole(name: string, text: string, atLeast = 1): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < atLeast)
    throw new UsageError(`--${name}: ${text} is not a whole number of at least ${atLeast}`)
  return value
}

function oneOf<T extends string>(name: string, text: string, choices: readonly T[]): T {
  const choice = choices.find((known) => known === text)
  if (choice === undefined) throw new UsageError(`--${name}: ${text} is none of ${choices.join(', ')}`)
  return choice
}

/**
 * Reads the command line.
 *
 * @returns the options, or the text of the help where that was asked for
 * @throws UsageError
 */
export function readOptions(args: string[]): Options | string {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      only: { type: 'string', default: loadNames.join() },
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '5' },
      documents: { type: 'string', default: '100000' },
      connections: { type: 'string', default: '32,128' },
      engine: { type: 'string', default: 'sqlite' },
      delay: { type: 'string', default: '0' },
      policy: { type: 'string', default: 'guarded' },
      load: { type: 'string' },
      self: { type: 'boolean', default: false },
      json: { type: 'string', default: new URL('./results/latest.json', import.meta.url).pathname },
    },
  })
  if (values.help) return help
  return {
    only: values.only.split(',').map((name) => oneOf('only', name, scenarioNames)),
    seconds: whole('seconds', values.seconds),
    rounds: whole('rounds', values.rounds),
    documents: whole('documents', values.documents, 100),
    connections: values.connections.split(',').map((count) => whole('connections', count)),
    engine: oneOf('engine', values.engine, ['sqlite', 'postgres']),
    delay: whole('delay', values.delay, 0),
    policy: oneOf('policy', values.policy, ['guarded', 'open']),
    load:
      values.load === undefined
        ? undefined
        : oneOf<'wrk' | 'autocannon'>('load', values.load, ['wrk', 'autocannon']),
    self: values.self,
    json: values.json,
  }
}
