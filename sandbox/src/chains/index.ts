import { join } from 'node:path'

import type { ShownPaymentRequest } from '../../../server/src/kernel/wire/sandbox-lists.ts'
import type { StandIn, StandInContext } from '../stand-in.ts'
import { createAccounts } from './accounts.ts'
import { createLocalChain } from './chain.ts'
import { TOKEN } from './contracts.ts'
import { createHeads } from './heads.ts'
import { createPayments } from './payments.ts'
import { createRpcRoutes } from './rpc.ts'
import { createSandboxApi } from './sandbox-api.ts'

const NAME = 'chains'

// Private ids: what is signed for the id of a real chain is valid on that one, too.
const CHAINS = [
  { name: 'ethereum', chainId: 77_000_001 },
  { name: 'arbitrum', chainId: 77_042_161 },
  { name: 'base', chainId: 77_008_453 },
]
const CONFIRMATIONS = 3

/** Stands in for the nodes of chains: a real node for each, with accounts that have funds, and contracts. */
export function createChains(context: StandInContext): StandIn {
  const { db, clock, settings, log, faults, base } = context
  const accounts = createAccounts(settings.secret)
  const heads = createHeads({ db, log })
  const chains = CHAINS.map((one) => {
    const chain = createLocalChain({
      ...one,
      folder: join(settings.dataDir, 'sandbox', 'chains'),
      accounts,
      clock,
      log,
      onChange: () => heads.changed(chain),
    })
    return chain
  })
  const rpcUrl = ({ name }: { name: string }): string => `${base}/${NAME}/${name}`
  const variable = ({ name }: { name: string }, end: string): string => `${name.toUpperCase()}_${end}`
  let usedChains: typeof chains = []
  let requests: () => Promise<readonly ShownPaymentRequest[]> = async () => []

  return {
    name: NAME,
    takesFaults: true,
    describe: () => ({
      ...Object.fromEntries(
        chains.flatMap((chain) => [
          [variable(chain, 'RPC_URL'), rpcUrl(chain)],
          [variable(chain, 'ID'), String(chain.chainId)],
          [variable(chain, 'CONFIRMATIONS'), String(CONFIRMATIONS)],
          [variable(chain, 'TOKENS'), `${TOKEN.symbol}=${accounts.contracts(chain.name).erc20}`],
        ]),
      ),
      PAYMENT_MNEMONIC: accounts.mnemonic,
      TREASURY_ADDRESS: accounts.treasury.toLowerCase(),
    }),
    async routes(engine) {
      await engine.register(createRpcRoutes({ chains, used: () => usedChains, faults, standIn: NAME }), {
        prefix: `/${NAME}`,
      })
      await engine.register(
        createSandboxApi({
          accounts,
          payments: createPayments(accounts),
          rpcUrl,
          used: () => usedChains,
          requests: () => requests(),
        }),
      )
    },
    state: async () => ({
      chains: Object.fromEntries(
        usedChains.map((chain) => [
          chain.name,
          { rpcUrl: rpcUrl(chain), chainId: chain.chainId, isRunning: chain.isRunning() },
        ]),
      ),
    }),
    part: { name: NAME, version: async () => [await heads.version(), await requests()] },
    async reset() {
      for (const chain of chains) await chain.reset()
      await heads.settled()
      await heads.forget()
    },
    async start(configured, lists) {
      usedChains = chains.filter(
        (chain) => (configured[variable(chain, 'RPC_URL')] ?? rpcUrl(chain)) === rpcUrl(chain),
      )
      for (const chain of chains) {
        const confirmations = Number(configured[variable(chain, 'CONFIRMATIONS')] ?? CONFIRMATIONS)
        // Enough to watch a payment become final.
        chain.setDepth(2 * confirmations)
      }
      requests = lists.paymentRequests ?? requests
    },
    async close() {
      for (const chain of chains) await chain.close()
      await heads.settled()
    },
  }
}
