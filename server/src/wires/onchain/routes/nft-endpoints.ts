import { Type } from '../../../base/schema.ts'
import { errors } from '../../../base/errors.ts'
import { withRule } from '../../../base/with-rule.ts'
import type { Caller } from '../../../http/access.ts'
import { json } from '../../../http/bodies.ts'
import { pageOf, PageQuery, PageReply } from '../../../http/page.ts'
import { endpoint } from '../../../http/route.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { addressOf } from '../chains/address.ts'
import type { Chains } from '../chains/chains.ts'
import { onchainErrors } from '../errors.ts'
import { AddressText, ChainName, SentFields, SentTransaction, SIGNING_LIMIT, WalletId } from './schemas.ts'
import type { Submit } from '../transactions/intent.ts'
import { sentOf, type OnchainTransactions } from '../transactions/transactions.ts'
import type { Wallets } from '../wallets/wallets.ts'
import { retrieveToken } from '../nfts/retrieve-token.ts'
import { createMetadata, type Gateways } from '../nfts/metadata.ts'
import { mint, transfer, type Sending } from '../nfts/nft-writes.ts'
import { createOwned } from '../nfts/owned.ts'
import { createStandards, STANDARDS } from '../nfts/standard.ts'
import { createTransferIndex } from '../nfts/transfer-index.ts'

const UINT256_MAX = 2n ** 256n - 1n
const URI_MAX = 65_536
/** How long a mint waits for its block, which tells the id of the token. */
const MINED_MS = 5_000

const Uint256 = (pattern: string, options: { description: string; examples: string[] }) =>
  withRule(Type.String({ pattern, maxLength: 78, ...options }), (text) =>
    /^\d{1,78}$/.test(text) && BigInt(text) > UINT256_MAX ? 'must be at most 2^256 - 1' : undefined,
  )

const TokenId = Uint256('^(0|[1-9]\\d*)$', { description: 'The id of the token, decimal.', examples: ['7'] })
const TokenAmount = Uint256('^[1-9]\\d*$', {
  description: 'How many of an ERC-1155 token, decimal. Default: 1.',
  examples: ['1'],
})

const TokenUri = withRule(
  Type.String({
    minLength: 1,
    description:
      'Where the metadata of the token is: an absolute URI of at most 64 KiB. Only that at https://, ipfs://, ar:// and data: is read by this server.',
    examples: ['ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi/7.json'],
  }),
  (text) => {
    if (Buffer.byteLength(text) > URI_MAX) return 'must be at most 64 KiB'
    if (!text.isWellFormed()) return 'holds a half of a surrogate pair: send well-formed Unicode'
    // https://www.rfc-editor.org/rfc/rfc3986#section-4.3. Contracts write data: URIs with spaces.
    return /^(data:|[a-z][a-z\d+.-]*:[^\s]+$)/i.test(text)
      ? undefined
      : 'must be an absolute URI, such as https://a.example/1.json or ipfs://…'
  },
)

const Contract = AddressText('The contract.')
const Standard = Type.Enum(STANDARDS)
const Address = Type.String({ description: 'With the checksum of EIP-55.' })

const Nft = Type.Object(
  {
    contractAddress: Address,
    tokenId: Type.String(),
    standard: Standard,
    owner: Type.Union([Address, Type.Null()], {
      description: 'Null of an ERC-1155 token, which may have many owners.',
    }),
    tokenURI: Type.Union([Type.String(), Type.Null()], {
      description:
        'As the contract answers it, with {id} filled in of ERC-1155. Null if there is none, or one of more than 64 KiB.',
    }),
    metadata: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
      description: 'Null if it cannot be fetched, or is no JSON object. It is written by strangers.',
    }),
    chain: Type.String(),
  },
  { title: 'Nft' },
)

const OwnedNft = Type.Object(
  {
    contractAddress: Address,
    tokenId: Type.String(),
    standard: Standard,
    owner: Address,
    balance: Type.Optional(Type.String({ description: 'Of an ERC-1155 token, decimal.' })),
  },
  { title: 'OwnedNft' },
)

const NftMint = Type.Object(
  {
    ...SentFields,
    status: Type.Enum(['pending']),
    tokenId: Type.Optional(
      Type.String({
        description: 'If it was mined within 5 seconds; else GET /onchain/transactions/:hash has it.',
      }),
    ),
  },
  { title: 'NftMint' },
)

const readErrors = [errors.provider_not_configured, onchainErrors.provider_error] as const
const writeErrors = [
  ...readErrors,
  errors.not_found,
  onchainErrors.contract_reverted,
  onchainErrors.insufficient_funds,
  onchainErrors.limit_exceeded,
  onchainErrors.unsupported_chain,
] as const

/** The endpoints of NFTs. */
export function nftEndpoints({
  context,
  chains,
  wallets,
  submit,
  transactions,
  gateways,
}: {
  context: WireContext
  chains: Chains
  wallets: Wallets
  submit: Submit
  transactions: OnchainTransactions
  gateways: Gateways
}) {
  const { clock, policy } = context
  const standards = createStandards(clock)
  const metadata = createMetadata({ clock, gateways })
  const owned = createOwned(context, { index: createTransferIndex(context, { chains }) })

  async function sendingOf(
    body: { contractAddress: string; chain?: string; walletId: string },
    caller: Caller,
    recordId: string,
  ): Promise<Sending> {
    const chain = chains.of(body.chain)
    const signer = await wallets.signerOf(body.walletId, policy.rowFilter(caller))
    return { chain, signer, owner: caller.id, reference: recordId, contract: addressOf(body.contractAddress) }
  }

  return {
    mint: endpoint(
      {
        limit: SIGNING_LIMIT,
        summary: 'Mint an NFT',
        description:
          'Calls safeMint(address, string), mint(address, string), mintTo(address, string) or mintNFT(address, string): the first that the contract has.',
        access: 'user',
        idempotent: true,
        body: json(
          Type.Object(
            {
              contractAddress: Contract,
              to: AddressText('Who gets the token.'),
              tokenURI: TokenUri,
              chain: ChainName,
              walletId: WalletId,
            },
            { title: 'MintNftRequest' },
          ),
        ),
        reply: { 200: NftMint },
        errors: writeErrors,
      },
      async ({ body, caller, recordId }) => {
        const sending = await sendingOf(body, caller, recordId)
        await standards.read(sending.chain, sending.contract, '/body/contractAddress')
        const row = await mint(submit, sending, { to: addressOf(body.to), tokenURI: body.tokenURI })
        const mined = await transactions.mined(row.id, MINED_MS)
        return { ...sentOf(mined), ...(mined.token_id !== null && { tokenId: mined.token_id }) }
      },
    ),
    transfer: endpoint(
      {
        limit: SIGNING_LIMIT,
        summary: 'Transfer an NFT',
        description: 'Calls safeTransferFrom, with the address of the wallet as the owner.',
        access: 'user',
        idempotent: true,
        body: json(
          Type.Object(
            {
              contractAddress: Contract,
              to: AddressText('Who gets the token.'),
              tokenId: TokenId,
              amount: Type.Optional(TokenAmount),
              chain: ChainName,
              walletId: WalletId,
            },
            { title: 'TransferNftRequest' },
          ),
        ),
        reply: { 200: SentTransaction },
        errors: writeErrors,
      },
      async ({ body, caller, recordId }) => {
        const sending = await sendingOf(body, caller, recordId)
        const { name } = await standards.read(sending.chain, sending.contract, '/body/contractAddress')
        const row = await transfer(submit, sending, {
          to: addressOf(body.to),
          tokenId: BigInt(body.tokenId),
          amount: body.amount === undefined ? undefined : BigInt(body.amount),
          standard: name,
        })
        return sentOf(row)
      },
    ),
    get: endpoint(
      {
        summary: 'Get an NFT',
        description: 'With its metadata, fetched from where the contract says.',
        access: 'user',
        params: Type.Object({ contractAddress: Contract, tokenId: TokenId }),
        query: Type.Object({ chain: ChainName }),
        reply: { 200: Nft },
        errors: [...readErrors, errors.not_found, errors.unavailable],
      },
      async ({ params, query }) => {
        const [chain, contract] = [chains.of(query.chain, '/query/chain'), addressOf(params.contractAddress)]
        const { name } = await standards.read(chain, contract, '/params/contractAddress')
        const token = { chain, contract, tokenId: BigInt(params.tokenId), standard: name }
        return retrieveToken({ metadata, owned }, token)
      },
    ),
    listOfOwner: endpoint(
      {
        summary: 'List the NFTs of an owner',
        description:
          'As of the latest block. A contract that does not list the tokens of an owner is indexed by its transfers first: until that is done, the answer is UNAVAILABLE with how far it is.',
        access: 'user',
        params: Type.Object({ contractAddress: Contract, ownerAddress: AddressText('The owner.') }),
        query: Type.Object({ chain: ChainName, limit: PageQuery.limit, offset: PageQuery.offset }),
        reply: {
          200: Type.Object(
            {
              nfts: Type.Array(OwnedNft),
              total: PageReply.total,
              limit: PageReply.limit,
              offset: PageReply.offset,
            },
            { title: 'OwnedNftPage' },
          ),
        },
        errors: [...readErrors, errors.unavailable],
      },
      async ({ params, query }) => {
        const [chain, contract] = [chains.of(query.chain, '/query/chain'), addressOf(params.contractAddress)]
        const { limit, offset } = pageOf({ ...query, cursor: undefined })
        const standard = await standards.read(chain, contract, '/params/contractAddress')
        const owner = addressOf(params.ownerAddress)
        const page = await owned.list({ chain, contract, standard, owner }, { limit, offset })
        return { ...page, limit, offset }
      },
    ),
  }
}
