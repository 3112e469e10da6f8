import { formatUnits } from '../base/money.ts'
import type { SweepItem } from '../wires/pay/index.ts'
import { UsageError, type Command } from './command.ts'
import { table, withApp } from './with-app.ts'

export const pay: Command = {
  summary: 'Gather what was paid on chains into the treasury',
  usage: 'sixwire pay sweep [--yes] [--gas-wallet ID]',
  help: `sweep   lists what lies at the receiving addresses of payment requests that
        no payment is awaited for, and what its transfer costs
        --yes            has the running server transfer it to TREASURY_ADDRESS
        --gas-wallet ID  the wallet that pays for the gas where an address has
                         tokens and too little of the native coin

Nothing is sent twice: what is under way is left out. Run it again to see how far it is.`,
  takesWords: true,
  options: { yes: { type: 'boolean' }, 'gas-wallet': { type: 'string' } },
  async run([action, ...more], options) {
    if (action !== 'sweep' || more.length > 0)
      throw new UsageError(action === undefined ? 'name an action: sweep' : `"${action}" is not an action`)
    const gasWallet = options['gas-wallet'] as string | undefined
    return withApp(async (app) => {
      const sweep = app.service('pay').sweep()
      const { treasury } = sweep
      const items = await sweep.plan()
      const progress = await sweep.progress()
      if (progress.length > 0)
        console.log(
          `${table(
            ['CHAIN', 'ADDRESS', 'STATE', 'HASH', 'ERROR'],
            progress.map((one) => [one.chain, one.address, one.status, one.hash ?? '', one.error ?? '']),
          )}\n`,
        )
      console.log(table(HEADINGS, [...Map.groupBy(items, keyOf).values()].map(rowOf)))
      if (items.length === 0) return 0
      if (options['yes'] !== true) {
        console.log(`\nNothing was sent. --yes transfers it to ${treasury}.`)
        return 0
      }
      const count = await sweep.begin(items, gasWallet)
      console.log(
        `\nThe running server makes ${count} transfer${count === 1 ? '' : 's'} to ${treasury}. Run the command again to see how far it is.`,
      )
      return 0
    })
  },
}

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
