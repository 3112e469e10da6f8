import type { Hex } from '../../../base/hex.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { forgetChainSql } from './forget-chain.ts'
import type { RpcAnswer, RpcCall } from './rpc.ts'

/** What tells chains apart. The hash is empty if the nodes keep no old blocks. */
export type Identity = { chainId: number; genesisHash: string }

type IdentityRow = { chain_id: number; genesis_hash: string; is_given: number }

export type ChainIdentities = {
  /**
   * Asks a node which chain it is of, and keeps that at the first contact.
   *
   * @returns what is wrong with the node; undefined if it is one of the chain, or gave no answer
   */
  verify(
    ask: (calls: readonly RpcCall[]) => Promise<readonly RpcAnswer[] | undefined>,
  ): Promise<string | undefined>
  /** The chain by its first contact; undefined before. */
  known(): Promise<Identity | undefined>
}

/**
 * @param options.id the chain id that the configuration names; undefined: that of the first contact counts
 * @param options.mayChange whether the chain may start again, as local ones do, or be another one if the configuration says so.
 *   What is stored of it is deleted then
 */
export function createIdentities(
  { db, clock, log }: Pick<WireContext, 'db' | 'clock' | 'log'>,
  options: { chain: string; id: number | undefined; mayChange: boolean },
): ChainIdentities {
  const { chain, id, mayChange } = options
  const isGiven = id === undefined ? 0 : 1

  const readRow = (): Promise<IdentityRow | undefined> =>
    db.get(sql<IdentityRow>`
      select chain_id, genesis_hash, is_given from onchain_chains where chain = ${chain}`)

  async function keep({ chainId, genesisHash }: Identity): Promise<IdentityRow> {
    await db.write(sql`insert into onchain_chains (chain, chain_id, genesis_hash, is_given, created_at)
      values (${chain}, ${chainId}, ${genesisHash}, ${isGiven}, ${clock.now()}) on conflict (chain) do nothing`)
    return (await readRow())!
  }

  async function change(stored: IdentityRow, { chainId, genesisHash }: Identity): Promise<void> {
    log.warn(
      { chain, before: stored.chain_id, now: chainId },
      'this is another chain than before: what was sent there is forgotten',
    )
    await db.batch([
      ...forgetChainSql(chain),
      sql`update onchain_chains set chain_id = ${chainId}, genesis_hash = ${genesisHash}, is_given = ${isGiven}
        where chain = ${chain}`,
    ])
  }

  return {
    async verify(ask) {
      const answers = await ask([
        { method: 'eth_chainId' },
        { method: 'eth_getBlockByNumber', params: ['0x0', false] },
      ])
      if (answers === undefined) return undefined
      const chainId = Number(answers[0]!.result)
      const genesis = (answers[1]!.result as { hash?: Hex } | null | undefined)?.hash
      if (!Number.isSafeInteger(chainId) || chainId < 1) return 'does not say its chain id'
      if (id !== undefined && chainId !== id) return `is of the chain id ${chainId}, not ${id}`
      const genesisHash = typeof genesis === 'string' ? genesis.toLowerCase() : ''
      const stored = (await readRow()) ?? (await keep({ chainId, genesisHash }))
      const isSameId = stored.chain_id === chainId
      if (isSameId && (genesisHash === '' || ['', genesisHash].includes(stored.genesis_hash)))
        return undefined
      // An id that only a first contact gave is no reason to believe a node of another chain.
      if (mayChange && (isSameId || isGiven === 1 || stored.is_given === 1)) {
        await change(stored, { chainId, genesisHash })
        return undefined
      }
      return isSameId
        ? 'is of another chain of the same id'
        : `is of the chain id ${chainId}, not ${stored.chain_id} as at the first contact`
    },
    async known() {
      const row = await readRow()
      return row && { chainId: row.chain_id, genesisHash: row.genesis_hash }
    },
  }
}
