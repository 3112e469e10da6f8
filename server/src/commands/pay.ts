import { formatUnits } from '../base/money.ts'
import type { SweepItem } from '../wires/pay/index.ts'
import { defineAction, type CommandGroup } from './command.ts'
import { JSON_OPTION } from './option.ts'
import { plural, print, table } from './print.ts'
import { withApp } from './with-app.ts'

export const pay: CommandGroup = {
  summary: 'Gather what was paid on chains into the treasury',
  actions: {
    sweep: defineAction({
      summary: 'List what lies at the receiving addresses of payment requests, or transfer it',
      options: {
        yes: { description: 'have the running server transfer it to TREASURY_ADDRESS' },
        'gas-wallet': {
          value: 'ID',
          description: 'the wallet that pays for gas where an address has tokens and too little coin',
        },
        ...JSON_OPTION,
      },
      details: `Lists the addresses that no payment is awaited for, and what their transfers cost.
Nothing is sent twice: what is under way is left out. Run it again to see how far it is.`,
      run: ({ options: { yes, 'gas-wallet': gasWallet, json } }) =>
        withApp(async (app) => {
          const sweep = app.service('pay').sweep()
          const { treasury } = sweep
          const items = await sweep.plan()
          const progress = await sweep.progress()
          // The JSON is the whole document, the text what is known before the transfers begin.
          const begin = async () => (yes && items.length > 0 ? sweep.begin(items, gasWallet) : undefined)
          if (json) {
            print(true, { treasury, progress, items, transfers: (await begin()) ?? 0 }, String)
            return 0
          }
          if (progress.length > 0) console.log(`${progressTable(progress)}\n`)
          console.log(table(HEADINGS, [...Map.groupBy(items, keyOf).values()].map(rowOf)))
          if (items.length === 0) return 0
          const count = await begin()
          console.log(
            count === undefined
              ? `\nNothing was sent. --yes transfers it to ${treasury}.`
              : `\nThe running server makes ${plural(count, 'transfer')} to ${treasury}. Run the command again to see how far it is.`,
          )
          return 0
        }),
    }),
  },
}

type Progress = { chain: string; address: string; status: string; hash: string | null; error: string | null }

const progressTable = (progress: readonly Progress[]): string =>
  table(
    ['CHAIN', 'ADDRESS', 'STATE', 'HASH', 'ERROR'],
    progress.map((one) => [one.chain, one.address, one.status, one.hash ?? '', one.error ?? '']),
  )

const HEADINGS = ['CHAIN', 'TOKEN', 'ADDRESSES', 'AMOUNT', 'GAS AT MOST', 'WITHOUT COIN FOR IT']

const keyOf = ({ chain, symbol }: SweepItem): string => `${chain} ${symbol}`

function rowOf(items: readonly SweepItem[]): string[] {
  const [{ chain, symbol, decimals }] = items as [SweepItem]
  const sum = (of: (item: SweepItem) => bigint): bigint => items.reduce((total, one) => total + of(one), 0n)
  return [
    chain,
    symbol,
    String(items.length),
    formatUnits(
      sum(({ amount }) => amount),
      decimals,
    ),
    formatUnits(
      sum(({ cost }) => cost),
      18,
    ),
    String(items.filter(({ contract, coin, cost }) => contract !== '' && coin < 2n * cost).length),
  ]
}
