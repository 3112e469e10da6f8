import type { Clock } from '../../../base/clock.ts'
import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { json } from '../../../http/bodies.ts'
import { pageOf, PageQuery, PageReply, sortQuery } from '../../../http/page.ts'
import { endpoint } from '../../../http/route.ts'
import type { Caller } from '../../../http/access.ts'
import { filterByOwner, OwnerQuery } from '../../../kernel/policy/owner-query.ts'
import { isPrivileged, type Policy } from '../../../kernel/policy/policy.ts'
import { onchainErrors } from '../errors.ts'
import { Timestamp } from './schemas.ts'
import type { Chains } from '../chains/chains.ts'
import type { TokenReader } from '../chains/tokens.ts'
import { addressBalances } from '../contracts/balances.ts'
import type { Wallet as StoredWallet, Wallets } from '../wallets/wallets.ts'

const NAME_MAX = 200
// Longer than any key, so that what is wrong with one can be said.
const PRIVATE_KEY_MAX = 200

/** Of each user: every wallet has a key to keep, and to follow on each chain. */
const LIMIT = { rate: '60/hour', name: 'wallets' } as const

const Name = Type.Optional(
  Type.String({ maxLength: NAME_MAX, description: 'For people.', examples: ['Treasury'] }),
)

const Wallet = Type.Object(
  {
    _id: Type.String(),
    address: Type.String({ description: 'With the checksum of EIP-55.' }),
    name: Type.Optional(Type.String()),
    createdAt: Timestamp,
    owner: Type.Optional(Type.String({ description: 'The user whose it is; for operators.' })),
  },
  { title: 'Wallet' },
)

const WalletBalance = Type.Object(
  {
    chain: Type.String(),
    symbol: Type.String(),
    token: Type.Optional(Type.String({ description: 'The contract of a token. Absent: the native coin.' })),
    balance: Type.Optional(Type.String({ description: 'Decimal. Absent if the chain gives no answer.' })),
    error: Type.Optional(Type.String({ description: 'Why there is no balance.' })),
  },
  { title: 'WalletBalance' },
)

const WalletIdParams = Type.Object({
  id: Type.String({ maxLength: 64, examples: ['01arz3ndektsv4rrffq69g5fav'] }),
})

/** Whose a wallet is, only operators see. */
function shownTo(caller: Caller, { owner, ...wallet }: StoredWallet) {
  return isPrivileged(caller) ? { ...wallet, owner } : wallet
}

/** The endpoints of wallets. */
export const walletEndpoints = ({
  chains,
  clock,
  tokens,
  wallets,
  policy,
}: {
  chains: Chains
  clock: Clock
  tokens: TokenReader
  wallets: Wallets
  policy: Policy
}) => ({
  create: endpoint(
    {
      limit: LIMIT,
      summary: 'Create a wallet',
      description:
        'Its private key is created here and never leaves the server. The address is the same on all chains.',
      access: 'user',
      idempotent: true,
      body: json(Type.Object({ name: Name }, { title: 'CreateWalletRequest' })),
      reply: { 201: Wallet },
      errors: [onchainErrors.provider_error],
    },
    async ({ body: { name }, caller, recordId, actor }) =>
      shownTo(caller, await wallets.create({ id: recordId, owner: caller.id, name }, actor)),
  ),
  importKey: endpoint(
    {
      limit: LIMIT,
      summary: 'Import a wallet',
      description:
        'An address can have one wallet on a server, over all accounts. In a session of the console the user must have signed in, or confirmed it, within the last 10 minutes.',
      access: 'user',
      proof: 'console',
      idempotent: true,
      body: json(
        Type.Object(
          {
            privateKey: Type.String({
              maxLength: PRIVATE_KEY_MAX,
              description: '0x and 64 hex digits. It is stored encrypted and never returned.',
              // Of no account: a key that works, and that everybody knows, would be used.
              examples: [`0x${'0'.repeat(64)}`],
            }),
            name: Name,
          },
          { title: 'ImportWalletRequest' },
        ),
      ),
      reply: { 201: Wallet },
      errors: [errors.conflict],
    },
    async ({ body: { privateKey, name }, caller, recordId, actor }) =>
      shownTo(caller, await wallets.import({ id: recordId, owner: caller.id, name }, privateKey, actor)),
  ),
  list: endpoint(
    {
      summary: 'List wallets',
      access: 'user',
      readsOnly: true,
      query: Type.Object({
        q: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 200,
            description: 'Text within the name or the address; or an id.',
            examples: ['treasury'],
          }),
        ),
        ...OwnerQuery,
        ...PageQuery,
        ...sortQuery(),
      }),
      reply: {
        200: Type.Object({ wallets: Type.Array(Wallet), ...PageReply }, { title: 'WalletPage' }),
      },
    },
    async ({ query, caller }) => {
      const page = pageOf(query)
      const { limit, offset } = page
      const list = await wallets.list(await filterByOwner(policy, caller, query), query, page)
      return { ...list, wallets: list.wallets.map((wallet) => shownTo(caller, wallet)), limit, offset }
    },
  ),
  get: endpoint(
    {
      summary: 'Get a wallet',
      access: 'user',
      readsOnly: true,
      params: WalletIdParams,
      reply: { 200: Wallet },
      errors: [errors.not_found],
    },
    async ({ params: { id }, caller }) => shownTo(caller, await wallets.get(id, policy.rowFilter(caller))),
  ),
  getBalances: endpoint(
    {
      summary: 'Read the balances of a wallet',
      description:
        'Of the native coin, and of the tokens of the configuration, on each chain that has a node. A chain that does not answer within 5 seconds has an error in place of a balance.',
      access: 'user',
      params: WalletIdParams,
      reply: {
        200: Type.Object({ balances: Type.Array(WalletBalance) }, { title: 'WalletBalances' }),
      },
      errors: [errors.not_found],
    },
    async ({ params: { id }, caller }) => {
      const { address } = await wallets.get(id, policy.rowFilter(caller))
      return { balances: await addressBalances({ chains, tokens, clock }, address) }
    },
  ),
})
