import { parseArgs } from 'node:util'

import type { Scenario, Settings } from './bench.ts'

const DEFAULT = 'documents'
const QUICK = { documents: '2000', connections: '8', seconds: '1', rounds: '1', streams: '200' }
const FULL = { documents: '100000', connections: '32,128', seconds: '3', rounds: '5', streams: '10000' }

const helpOf = (scenarios: readonly Scenario[]): string => `Measures Sixwire against a peer of the same run.

The peer is the floor (the least that a Node process can do for the same requests), a package used bare, or
the same server without what is measured. Both are measured in alternating rounds, after one that warms up.
A ratio is Sixwire's figure over the peer's of the same round: the median, the least and the most.

  npm run bench -- [--only NAME,NAME] [options]

${scenarios.map(({ name, summary }) => `  ${name.padEnd(12)}${summary}`).join('\n')}

  --only NAMES        scenarios, or all (${DEFAULT})
  --engine NAME       sqlite or postgres, which is started for the run (sqlite)
  --documents N       how many are there before the measuring begins (${FULL.documents});
                      queries and indexes take ten times as many
  --connections N,N   open at a time in the scenario documents (${FULL.connections})
  --streams N         open at a time in the scenario changes (${FULL.streams})
  --pocketbase PATH   a program of PocketBase, for the scenario changes: without it, it is left out
  --seconds N         length of a round (${FULL.seconds})
  --rounds N          rounds for each side (${FULL.rounds})
  --quick             small sizes and one short round: shows that a scenario works, not how fast it is
`

function whole(name: string, text: string, atLeast = 1): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= atLeast) return value
  throw new Error(`--${name}: ${text} is not a whole number of at least ${atLeast}`)
}

function oneOf<T extends string>(name: string, text: string, choices: readonly T[]): T {
  const choice = choices.find((known) => known === text)
  if (choice !== undefined) return choice
  throw new Error(`--${name}: ${text} is none of ${choices.join(', ')}`)
}

/**
 * Reads the command line.
 *
 * @returns the settings, or the text of the help if that was asked for
 * @throws Error that says which word is wrong
 */
export function readSettings(args: string[], scenarios: readonly Scenario[]): Settings | string {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  const { values } = parseArgs({
    args,
    options: {
      help: { ...flag, short: 'h' },
      quick: flag,
      only: text,
      engine: text,
      documents: text,
      connections: text,
      streams: text,
      pocketbase: text,
      seconds: text,
      rounds: text,
    },
  })
  if (values.help) return helpOf(scenarios)
  const names = scenarios.map(({ name }) => name)
  const size = { ...(values.quick ? QUICK : FULL), ...values }
  const only = values.only ?? DEFAULT
  return {
    engine: oneOf('engine', values.engine ?? 'sqlite', ['sqlite', 'postgres']),
    only: only === 'all' ? names : only.split(',').map((name) => oneOf('only', name, names)),
    documents: whole('documents', size.documents, 1000),
    connections: size.connections.split(',').map((count) => whole('connections', count)),
    streams: whole('streams', size.streams, 10),
    pocketbase: values.pocketbase,
    seconds: whole('seconds', size.seconds),
    rounds: whole('rounds', size.rounds),
    isQuick: values.quick,
  }
}
