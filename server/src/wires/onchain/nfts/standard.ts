import type { Address } from '../../../base/hex.ts'
import { BoundedMap } from '../../../base/bounded-map.ts'
import type { Clock } from '../../../base/clock.ts'
import { invalid } from '../../../base/errors.ts'
import type { Chain } from '../chains/chain.ts'
import { nftAnswer, nftCall } from './nft-calls.ts'

/** The standards of NFT contracts. */
export const STANDARDS = ['erc721', 'erc1155'] as const

// https://eips.ethereum.org/EIPS/eip-165, https://eips.ethereum.org/EIPS/eip-721, https://eips.ethereum.org/EIPS/eip-1155
const ERC165 = '0x01ffc9a7'
const INVALID = '0xffffffff'
const ERC721 = '0x80ac58cd'
const ERC721_ENUMERABLE = '0x780e9d63'
const ERC1155 = '0xd9b67a26'

const KNOWN_MAX = 10_000
/** A contract behind a proxy can become another one. */
const KNOWN_MS = 600_000

/** What an NFT contract says that it is. */
export type NftStandard = {
  name: (typeof STANDARDS)[number]
  /** Whether an ERC-721 contract lists the tokens of an owner. */
  isEnumerable: boolean
}

export type Standards = {
  /**
   * Asks a contract by ERC-165 which standard it has; it is remembered for ten minutes.
   *
   * @param path of the address in the request, for the error
   * @throws VALIDATION_ERROR if there is no contract at the address, or one that has neither standard
   * @throws PROVIDER_ERROR
   */
  read(chain: Chain, address: Address, path: string): Promise<NftStandard>
}

export function createStandards(clock: Clock): Standards {
  const cache = new BoundedMap<string, { standard: NftStandard; until: number }>(KNOWN_MAX)

  async function ask(chain: Chain, address: Address, path: string): Promise<NftStandard> {
    const ids = [ERC165, INVALID, ERC721, ERC721_ENUMERABLE, ERC1155] as const
    const [code, ...answers] = await chain.rpc.batch([
      { method: 'eth_getCode', params: [address, 'latest'] },
      ...ids.map((id) => nftCall(address, 'supportsInterface', [id])),
    ])
    if (code!.result === '0x')
      throw invalid({ path, message: `is the address of no contract on the chain ${chain.name}` })
    const [isErc165, isAnything, isErc721, isEnumerable, isErc1155] = answers.map(
      (answer) => nftAnswer(chain.name, 'supportsInterface', answer) === true,
    )
    if (isErc165 && !isAnything) {
      if (isErc721) return { name: 'erc721', isEnumerable: isEnumerable! }
      if (isErc1155) return { name: 'erc1155', isEnumerable: false }
    }
    throw invalid({
      path,
      message: 'is no NFT contract: by ERC-165 it has neither the interface of ERC-721 nor that of ERC-1155',
    })
  }

  return {
    async read(chain, address, path) {
      const { chainId, genesisHash } = await chain.identity()
      const key = `${chainId} ${genesisHash} ${address}`
      const stored = cache.get(key)
      if (stored && clock.elapsed() < stored.until) return stored.standard
      const standard = await ask(chain, address, path)
      cache.set(key, { standard, until: clock.elapsed() + KNOWN_MS })
      return standard
    },
  }
}
