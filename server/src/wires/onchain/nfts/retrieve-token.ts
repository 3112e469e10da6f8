import type { Address } from '../../../base/hex.ts'
import { errors } from '../../../base/errors.ts'
import { ZERO_ADDRESS } from '../chains/blocks.ts'
import type { Chain } from '../chains/chain.ts'
import type { Metadata, MetadataReader } from './metadata.ts'
import { nftAnswer, nftCall } from './nft-calls.ts'
import type { Owned } from './owned.ts'
import type { NftStandard } from './standard.ts'

/** A longer URI is not answered. */
const URI_MAX = 65_536

/** A token as its contract shows it. */
export type Nft = {
  contractAddress: Address
  tokenId: string
  standard: NftStandard['name']
  /** Null of ERC-1155, whose tokens may have many owners. */
  owner: Address | null
  /** Null if the contract gives none, or one of more than 64 KiB. */
  tokenURI: string | null
  metadata: Metadata | null
  chain: string
}

type Token = { chain: Chain; contract: Address; tokenId: bigint }

/**
 * Looks up a token.
 *
 * @throws NOT_FOUND if the contract has no such token
 * @throws UNAVAILABLE if only its transfers can tell, and they are not indexed in time
 * @throws PROVIDER_ERROR
 */
export async function retrieveToken(
  { metadata, owned }: { metadata: MetadataReader; owned: Pick<Owned, 'isSeen'> },
  token: Token & { standard: NftStandard['name'] },
): Promise<Nft> {
  const { chain, contract, tokenId, standard } = token
  const { owner, uri } = await (standard === 'erc721' ? readErc721(token) : readErc1155(token, owned))
  return {
    contractAddress: contract,
    tokenId: String(tokenId),
    standard,
    owner,
    tokenURI: uri === undefined || Buffer.byteLength(uri) > URI_MAX ? null : uri.toWellFormed(),
    metadata: uri === undefined ? null : await metadata.read(uri),
    chain: chain.name,
  }
}

type Found = { owner: Address | null; uri: string | undefined }

async function readErc721({ chain, contract, tokenId }: Token): Promise<Found> {
  const [owners, uris] = await chain.rpc.batch([
    nftCall(contract, 'ownerOf', [tokenId]),
    nftCall(contract, 'tokenURI', [tokenId]),
  ])
  const owner = nftAnswer(chain.name, 'ownerOf', owners!)
  if (owner === undefined || owner === ZERO_ADDRESS) throw notFound(tokenId)
  return { owner, uri: nftAnswer(chain.name, 'tokenURI', uris!) }
}

async function readErc1155(
  { chain, contract, tokenId }: Token,
  owned: Pick<Owned, 'isSeen'>,
): Promise<Found> {
  const [uris, existing] = await chain.rpc.batch([
    nftCall(contract, 'uri', [tokenId]),
    // Of OpenZeppelin's ERC1155Supply: ERC-1155 itself has nothing that tells whether a token exists.
    nftCall(contract, 'exists', [tokenId]),
  ])
  const uri = nftAnswer(chain.name, 'uri', uris!)
  const exists = nftAnswer(chain.name, 'exists', existing!)
  // One URI for all ids is the rule, so that one says nothing.
  if (exists === false) throw notFound(tokenId)
  const isUnknown = exists === undefined && (uri === undefined || uri === '')
  if (isUnknown && !(await owned.isSeen({ chain, contract }, tokenId))) throw notFound(tokenId)
  return { owner: null, uri: uri?.replaceAll('{id}', tokenId.toString(16).padStart(64, '0')) }
}

const notFound = (tokenId: bigint) => errors.not_found({ message: `The contract has no token ${tokenId}.` })
