import { asset } from '../../base/asset.ts'
import { defineWire } from '../../kernel/wire/wire.ts'
import { declareChainMetrics } from './chains/chain-metrics.ts'
import { chainSeries } from './chains/chain-series.ts'
import { chainDiagnoses } from './chains/diagnoses.ts'
import { createChains, type Chains } from './chains/chains.ts'
import { createFollower, type Consumer, type Follower } from './chains/follower.ts'
import { createHealth, type OnchainHealth } from './chains/health.ts'
import { createTokens, type TokenReader } from './chains/tokens.ts'
import { ONCHAIN_ENV, ONCHAIN_PROVIDERS, ONCHAIN_SETTABLE, OnchainOptions } from './options.ts'
import { onchainTimeline } from './person-timeline.ts'
import { ONCHAIN_TABLES } from './personal-tables.ts'
import { onchainRoutes } from './routes.ts'
import { onchainExport } from './table-exports.ts'
import { createConfirmations } from './transactions/confirmations.ts'
import { createFees, type CurrentFees } from './transactions/fees.ts'
import type { Submit } from './transactions/intent.ts'
import { forgetOldDays } from './transactions/limits.ts'
import { createNonceQueues } from './transactions/nonce-queue.ts'
import { createReplacements } from './transactions/replacement.ts'
import { createRevisions, type Revisions } from './transactions/revisions.ts'
import { createTransactionEvents } from './transactions/transaction-events.ts'
import { createSubmit } from './transactions/submit.ts'
import { createTransactions, type OnchainTransactions } from './transactions/transactions.ts'
import { LOCAL_KEYS_SEALED } from './wallets/local-keys.ts'
import { createSigners, type Signers } from './wallets/signers.ts'
import { createWallets, type Wallets } from './wallets/wallets.ts'

const HOUR_MS = 3_600_000

export { logsOf, quantity, type Block, type BlockTransaction, type EventLog } from './chains/blocks.ts'
export { headOf } from './chains/chain.ts'
export type { Chain, Head } from './chains/chain.ts'
export type { Chains } from './chains/chains.ts'
export type { Consumer, Follower } from './chains/follower.ts'
export type { Rpc, RpcAnswer, RpcCall } from './chains/rpc.ts'
export type { Token, TokenReader } from './chains/tokens.ts'
export type { Intent, Submit } from './transactions/intent.ts'
export { sentOf } from './transactions/transactions.ts'
export type { Signer } from './wallets/signer.ts'

/** The service of the onchain wire. */
export type Onchain = {
  readonly chains: Chains
  readonly tokens: TokenReader
  /** Every key of this server; add a finder for keys that are no wallet's. */
  readonly signers: Signers
  readonly wallets: Wallets
  readonly submit: Submit
  readonly transactions: OnchainTransactions
  /** What an operator does to transactions that are in no block. */
  readonly revisions: Revisions
  readonly fees: CurrentFees
  /** Defines how blocks are followed for a consumer; to be called in the setup of a wire. */
  follow(consumer: Consumer): Follower
  health(): Promise<OnchainHealth>
}

/** Wallets on EVM chains, balances, transactions, contracts and NFTs. */
export const onchain = defineWire({
  name: 'onchain',
  description: 'Wallets on EVM chains: balances, transactions, contracts and NFTs.',
  options: OnchainOptions,
  env: ONCHAIN_ENV,
  providers: ONCHAIN_PROVIDERS,
  settable: ONCHAIN_SETTABLE,
  migrations: asset('wires/onchain/migrations/'),
  setup(context, options) {
    const { db, clock, policy } = context
    const chains = createChains(context, options)
    declareChainMetrics(context, chains)
    const tokens = createTokens(clock)
    const signers = createSigners()
    const wallets = createWallets(context, { keys: options.keys })
    signers.add((address) => wallets.signerAt(address))
    const fees = createFees(context)
    const events = createTransactionEvents(context.events)
    const replacements = createReplacements(context, { signers, fees, events })
    const stuckMs = options.stuckSeconds * 1000
    const queues = createNonceQueues(context, {
      chains,
      replacements,
      events,
      stuckMs,
    })
    const confirmations = createConfirmations(context, { chains, queues, events })
    const submit = createSubmit(context, { queues, confirmations, fees, events })
    const transactions = createTransactions(context, { stuckMs })
    const revisions = createRevisions(context, { chains, replacements, queues })
    const health = createHealth(context, { chains })
    const followers: Follower[] = [confirmations]
    context.jobs.every('onchain.clean', HOUR_MS, () => forgetOldDays(context))
    const service: Onchain = {
      chains,
      tokens,
      signers,
      wallets,
      submit,
      transactions,
      revisions,
      fees,
      follow(consumer) {
        const follower = createFollower(context, { chains, consumer })
        followers.push(follower)
        return follower
      },
      health,
    }
    return {
      routes: onchainRoutes({
        context,
        clock,
        policy,
        chains,
        tokens,
        wallets,
        submit,
        transactions,
        revisions,
        gateways: { ipfs: options.ipfsGateway, arweave: options.arweaveGateway },
        health,
      }),
      service,
      async start() {
        await wallets.start()
        await queues.start()
      },
      // A chain that is down is no reason to stop this server: GET /onchain/health reports it.
      health: () => db.ping(),
      checks: new Map([
        ...chains.all
          .filter(({ isConfigured }) => isConfigured)
          .map((chain): [string, () => Promise<void>] => [
            `${chain.name} by ${chain.rpc.hosts.join(', ')}`,
            async () => void (await chain.head({ isFresh: true })),
          ]),
        ...(options.keys
          ? [[`keys by ${options.keys.name}`, () => wallets.check()] as [string, () => Promise<void>]]
          : []),
      ]),
      series: chainSeries(context, chains, followers),
      timeline: onchainTimeline(context),
      diagnoses: chainDiagnoses(chains.all, followers),
      sealed: [LOCAL_KEYS_SEALED],
      exports: onchainExport({ wallets }),
      personalTables: ONCHAIN_TABLES,
      async close() {
        chains.close()
        await wallets.close()
      },
    }
  },
})
