import { errors } from '../../../base/errors.ts'
import { parseUnits } from '../../../base/money.ts'
import { Type } from '../../../base/schema.ts'
import { json } from '../../../http/bodies.ts'
import { pageOf, PageQuery, PageReply, sortQuery } from '../../../http/page.ts'
import { endpoint } from '../../../http/route.ts'
import { filterByOwner, OwnerQuery } from '../../../kernel/policy/owner-query.ts'
import { isPrivileged, type Policy } from '../../../kernel/policy/policy.ts'
import { addressOf } from '../chains/address.ts'
import { COIN_DECIMALS } from '../chains/chain.ts'
import type { Chains } from '../chains/chains.ts'
import { onchainErrors } from '../errors.ts'
import {
  AddressText,
  ChainName,
  CoinAmount,
  HashText,
  SentFields,
  SentTransaction,
  SIGNING_LIMIT,
  Timestamp,
  WalletId,
} from './schemas.ts'
import type { Wallets } from '../wallets/wallets.ts'
import type { Submit } from '../transactions/intent.ts'
import type { Revisions } from '../transactions/revisions.ts'
import { sentOf, TRANSACTION_FILTERS, type OnchainTransactions } from '../transactions/transactions.ts'

const Transaction = Type.Object(
  {
    ...SentFields,
    status: Type.Enum(['pending', 'confirmed', 'failed', 'replaced'], {
      description: 'Pending until it has enough confirmations.',
    }),
    blockNumber: Type.Optional(Type.Integer({ description: 'Absent while it is in no block.' })),
    confirmations: Type.Optional(
      Type.Integer({
        description:
          'The head block is the first. Absent in lists, while no node answers, and once nodes have dropped an old receipt.',
      }),
    ),
    gasUsed: Type.Optional(Type.String()),
    fee: Type.Optional(Type.String({ description: 'Decimal, in the native coin.' })),
    tokenId: Type.Optional(Type.String({ description: 'The token that it minted.' })),
    replacedBy: Type.Optional(
      Type.String({ description: 'The hash of the version with a higher fee, of the same nonce.' }),
    ),
    reason: Type.Optional(Type.String({ description: 'Why it failed, or is being cancelled.' })),
    walletId: Type.Optional(Type.String({ description: 'The wallet of this server that sent it.' })),
    createdAt: Type.Optional(Timestamp),
    owner: Type.Optional(Type.String({ description: 'The user who sent it; in lists, for operators.' })),
  },
  { title: 'OnchainTransaction' },
)

/** What the routes share that an operator calls about a transaction of any owner. */
const REVISION = {
  access: 'operator',
  scope: 'onchain:transactions',
  idempotent: true,
  params: Type.Object({ hash: HashText }),
  reply: { 200: SentTransaction },
  errors: [
    errors.not_found,
    errors.conflict,
    errors.unavailable,
    errors.provider_not_configured,
    onchainErrors.provider_error,
  ],
} as const

export const transactionEndpoints = ({
  chains,
  wallets,
  submit,
  transactions,
  revisions,
  policy,
}: {
  chains: Chains
  wallets: Wallets
  submit: Submit
  transactions: OnchainTransactions
  revisions: Revisions
  policy: Policy
}) => ({
  send: endpoint(
    {
      limit: SIGNING_LIMIT,
      summary: 'Send the native coin',
      description:
        'Once it is answered, the signed transaction is stored and will be sent, whatever happens to the server.',
      access: 'user',
      idempotent: true,
      body: json(
        Type.Object(
          {
            to: AddressText('Who gets it.'),
            value: CoinAmount('How much.'),
            chain: ChainName,
            walletId: WalletId,
          },
          { title: 'SendTransactionRequest' },
        ),
      ),
      reply: { 200: SentTransaction },
      errors: [
        errors.not_found,
        errors.provider_not_configured,
        onchainErrors.insufficient_funds,
        onchainErrors.contract_reverted,
        onchainErrors.limit_exceeded,
        onchainErrors.unsupported_chain,
        onchainErrors.provider_error,
      ],
    },
    async ({ body: { to, value, chain: name, walletId }, caller, recordId }) => {
      const chain = chains.of(name)
      const signer = await wallets.signerOf(walletId, policy.rowFilter(caller))
      const row = await submit({
        chain,
        signer,
        owner: caller.id,
        walletId,
        kind: 'transfer',
        to: addressOf(to),
        value: parseUnits(value, COIN_DECIMALS),
        reference: recordId,
      })
      return sentOf(row)
    },
  ),
  get: endpoint(
    {
      summary: 'Get a transaction',
      description:
        'Of any sender, as the chain shows it now. What this server has recorded is shown to its owner.',
      access: 'user',
      readsOnly: true,
      params: Type.Object({ hash: HashText }),
      query: Type.Object({ chain: ChainName }),
      reply: { 200: Transaction },
      errors: [errors.not_found, errors.provider_not_configured, onchainErrors.provider_error],
    },
    ({ params: { hash }, query: { chain }, caller }) =>
      transactions.get(chains.of(chain, '/query/chain'), hash, policy.rowFilter(caller)),
  ),
  cancel: endpoint(
    {
      summary: 'Cancel a transaction that is in no block',
      description:
        'A transfer of nothing to the own address takes its nonce, with a higher fee. Whichever is mined first counts: the transaction may still be mined instead. The answer has the hash of the cancellation.',
      ...REVISION,
    },
    async ({ params: { hash }, actor }) => sentOf(await revisions.cancel(hash, actor)),
  ),
  speedUp: endpoint(
    {
      summary: 'Speed up a transaction that is in no block',
      description:
        'Sends it, or its cancellation, with fees that are higher by 12.5 % at least. Any version may be mined, never two. The answer has the hash of the new version.',
      ...REVISION,
    },
    async ({ params: { hash }, actor }) => sentOf(await revisions.speedUp(hash, actor)),
  ),
  list: endpoint(
    {
      summary: 'List sent transactions',
      description: 'What this server sent: one record a nonce, under the hash of its newest version.',
      access: 'user',
      readsOnly: true,
      query: Type.Object({
        ...PageQuery,
        ...sortQuery(),
        walletId: Type.Optional(Type.String({ maxLength: 64 })),
        chain: Type.Optional(Type.String({ maxLength: 40, description: 'Default: all chains.' })),
        status: Type.Optional(
          Type.Enum(TRANSACTION_FILTERS, {
            description: 'stuck: pending, and in no block for longer than onchain.stuckSeconds.',
          }),
        ),
        ...OwnerQuery,
      }),
      reply: {
        200: Type.Object(
          { transactions: Type.Array(Transaction), ...PageReply },
          { title: 'OnchainTransactionPage' },
        ),
      },
    },
    async ({ query: { walletId, chain, status, ...query }, caller }) => {
      const page = pageOf(query)
      const filters = {
        ...(walletId !== undefined && { walletId }),
        ...(chain !== undefined && { chain: chains.of(chain, '/query/chain').name }),
        ...(status !== undefined && { status }),
      }
      const { limit, offset } = page
      const list = await transactions.list(await filterByOwner(policy, caller, query), filters, page)
      const withoutOwners = list.transactions.map(({ owner: _owner, ...transaction }) => transaction)
      return {
        ...list,
        transactions: isPrivileged(caller) ? list.transactions : withoutOwners,
        limit,
        offset,
      }
    },
  ),
})
