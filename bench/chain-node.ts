import { startNode, type LocalNode } from '../src/sandbox/chains/node.ts'

export const CHAIN_ID = 77_000_099
/** What a wallet of the bench owns: enough for every round. */
export const FUNDS = `0x${(1_000_000n * 10n ** 18n).toString(16)}`

/** A node that mines a block each second, and what a server needs to use it. */
export async function startChain(
  blockSeconds = 1,
): Promise<LocalNode & { environment: Record<string, string> }> {
  const node = await startNode({
    chainId: CHAIN_ID,
    arguments: ['--block-time', String(blockSeconds), '--gas-limit', '1000000000'],
  })
  return {
    ...node,
    environment: { ETHEREUM_RPC_URL: node.url, ETHEREUM_ID: String(CHAIN_ID), ETHEREUM_CONFIRMATIONS: '2' },
  }
}
