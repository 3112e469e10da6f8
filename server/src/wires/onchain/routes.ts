import { Type } from '../../base/schema.ts'
import { healthRoute } from '../../http/health-route.ts'
import { route } from '../../http/route.ts'
import { CHAIN_STATUS, type OnchainHealth } from './chains/health.ts'
import { contractEndpoints } from './routes/contract-endpoints.ts'
import { nftEndpoints } from './routes/nft-endpoints.ts'
import { transactionEndpoints } from './routes/transaction-endpoints.ts'
import { walletEndpoints } from './routes/wallet-endpoints.ts'

type OnchainParts = Parameters<typeof walletEndpoints>[0] &
  Parameters<typeof transactionEndpoints>[0] &
  Parameters<typeof contractEndpoints>[0] &
  Parameters<typeof nftEndpoints>[0] & { health: () => Promise<OnchainHealth> }

/** All routes of the wire. */
export function onchainRoutes(wire: OnchainParts) {
  const wallets = walletEndpoints(wire)
  const transactions = transactionEndpoints(wire)
  const contracts = contractEndpoints(wire)
  const nfts = nftEndpoints(wire)
  return [
    route('POST /onchain/wallets', ...wallets.create),
    route('POST /onchain/wallets/import', ...wallets.importKey),
    route('GET /onchain/wallets', ...wallets.list),
    route('GET /onchain/wallets/:id', ...wallets.get),
    route('GET /onchain/wallets/:id/balances', ...wallets.getBalances),
    route('GET /onchain/balance/:address', ...contracts.getBalance),
    route('POST /onchain/transactions', ...transactions.send),
    route('GET /onchain/transactions/:hash', ...transactions.get),
    route('POST /onchain/transactions/:hash/speed-up', ...transactions.speedUp),
    route('POST /onchain/transactions/:hash/cancel', ...transactions.cancel),
    route('GET /onchain/transactions', ...transactions.list),
    route('POST /onchain/contracts/read', ...contracts.read),
    route('POST /onchain/contracts/write', ...contracts.write),
    route('POST /onchain/nft/mint', ...nfts.mint),
    route('POST /onchain/nft/transfer', ...nfts.transfer),
    route('GET /onchain/nft/:contractAddress/:tokenId', ...nfts.get),
    route('GET /onchain/nft/:contractAddress/owner/:ownerAddress', ...nfts.listOfOwner),
    healthRoute(
      'GET /onchain/health',
      {
        title: 'OnchainHealth',
        summary: 'Check whether the chains answer',
        fields: {
          chains: Type.Record(
            Type.String(),
            Type.Object(
              {
                status: Type.Enum(CHAIN_STATUS),
                blockNumber: Type.Integer({ description: 'The latest block; 0 if no node answers.' }),
                reason: Type.Optional(Type.String({ description: 'Why nothing can be sent.' })),
              },
              { title: 'ChainHealth' },
            ),
            { description: 'Every chain of the configuration, by name.' },
          ),
        },
        isAlways200: true,
      },
      wire.health,
    ),
  ] as const
}
