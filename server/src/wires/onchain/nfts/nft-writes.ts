import type { Abi } from 'viem'

import type { Address, Hex } from '../../../base/hex.ts'
import { invalid } from '../../../base/errors.ts'
import { once } from '../../../base/once.ts'
import { encodeFunctionData, parseAbi } from '../../../base/viem.ts'
import type { Chain } from '../chains/chain.ts'
import { providerError } from '../chains/rpc.ts'
import { onchainErrors } from '../errors.ts'
import type { Intent, Submit } from '../transactions/intent.ts'
import type { OnchainTransactionRow } from '../transactions/transaction-rows.ts'
import type { WalletSigner } from '../wallets/wallets.ts'
import { ethCall, isRevert } from './nft-calls.ts'
import type { NftStandard } from './standard.ts'

/** The functions that mint a token with a URI, in the order in which they are tried. */
const mintAbi = once(() =>
  parseAbi([
    'function safeMint(address to, string uri)',
    'function mint(address to, string uri)',
    'function mintTo(address to, string uri)',
    'function mintNFT(address to, string uri)',
  ]),
)
const MINT_FUNCTIONS = ['safeMint', 'mint', 'mintTo', 'mintNFT'] as const

const erc721Transfer = once(() =>
  parseAbi(['function safeTransferFrom(address from, address to, uint256 tokenId) payable']),
)

const erc1155Transfer = once(() =>
  parseAbi(['function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data)']),
)

/** What is the same for all that is sent for a request. */
export type Sending = {
  chain: Chain
  signer: WalletSigner
  /** The user or service key. */
  owner: string
  /** The same one again sends nothing. */
  reference: string
  contract: Address
}

/**
 * Mints a token by the first function for that which the contract has.
 *
 * @throws CONTRACT_REVERTED if it has none, or refuses
 * @throws what `submit` throws
 */
export async function mint(
  submit: Submit,
  sending: Sending,
  { to, tokenURI }: { to: Address; tokenURI: string },
): Promise<OnchainTransactionRow> {
  const { chain, signer, contract } = sending
  const candidates = MINT_FUNCTIONS.map((functionName) =>
    encodeFunctionData({ abi: mintAbi(), functionName, args: [to, tokenURI] }),
  )
  const answers = await chain.rpc.batch(
    candidates.map((data) => ethCall(contract, data, { from: signer.address })),
  )
  const fault = answers.find(({ error }) => error && !isRevert(error))?.error
  if (fault) throw providerError(chain.name, `eth_call: ${fault.message}`)
  // A contract that takes any call answers nothing; one that has no such function reverts without a reason.
  const places = [
    answers.findIndex(({ result }) => typeof result === 'string' && result !== '0x'),
    answers.findIndex(({ error }) => !error),
    answers.findIndex(({ error }) => error?.data !== undefined && error.data !== '0x'),
  ]
  const at = places.find((place) => place !== -1)
  if (at === undefined)
    throw onchainErrors.contract_reverted({
      message: `The contract refuses to mint, or has no function for it: ${MINT_FUNCTIONS.join(', ')}, each with (address to, string uri).`,
    })
  return send(submit, sending, { kind: 'mint', data: candidates[at]!, abi: mintAbi() })
}

/**
 * Transfers a token of the wallet.
 *
 * @param token.amount of ERC-1155. Default: 1
 * @throws VALIDATION_ERROR if more than one of an ERC-721 token is to be sent
 * @throws what `submit` throws
 */
export async function transfer(
  submit: Submit,
  sending: Sending,
  {
    to,
    tokenId,
    amount = 1n,
    standard,
  }: { to: Address; tokenId: bigint; amount?: bigint | undefined; standard: NftStandard['name'] },
): Promise<OnchainTransactionRow> {
  const from = sending.signer.address
  if (standard === 'erc1155') {
    const data = encodeFunctionData({
      abi: erc1155Transfer(),
      functionName: 'safeTransferFrom',
      args: [from, to, tokenId, amount, '0x'],
    })
    return send(submit, sending, { kind: 'nft_transfer', data, abi: erc1155Transfer() })
  }
  if (amount !== 1n)
    throw invalid({ path: '/body/amount', message: 'must be 1: there is one of each ERC-721 token' })
  const data = encodeFunctionData({
    abi: erc721Transfer(),
    functionName: 'safeTransferFrom',
    args: [from, to, tokenId],
  })
  return send(submit, sending, { kind: 'nft_transfer', data, abi: erc721Transfer() })
}

const send = (
  submit: Submit,
  { contract, signer, ...sending }: Sending,
  call: { kind: Intent['kind']; data: Hex; abi: Abi },
): Promise<OnchainTransactionRow> =>
  submit({ ...sending, ...call, signer, walletId: signer.walletId, to: contract, value: 0n })
