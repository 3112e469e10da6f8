import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { json } from '../../../http/bodies.ts'
import { pageOf, PageQuery, PageReply } from '../../../http/page.ts'
import { endpoint } from '../../../http/route.ts'
import type { Policy } from '../../../kernel/policy.ts'
import { onchainErrors } from '../errors.ts'
import { Timestamp } from '../schemas.ts'
import type { Wallets } from './wallets.ts'

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
  },
  { title: 'Wallet' },
)

/** The endpoints of wallets. */
export const walletEndpoints = ({ wallets, policy }: { wallets: Wallets; policy: Policy }) => ({
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
    ({ body: { name }, caller, recordId }) => wallets.create({ id: recordId, owner: caller.id, name }),
  ),
  importKey: endpoint(
    {
      limit: LIMIT,
      summary: 'Import a wallet',
      description: 'An address can have one wallet on a server, over all accounts.',
      access: 'user',
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
    ({ body: { privateKey, name }, caller, recordId }) =>
      wallets.import({ id: recordId, owner: caller.id, name }, privateKey),
  ),
  list: endpoint(
    {
      summary: 'List wallets',
      access: 'user',
      readsOnly: true,
      query: Type.Object(PageQuery),
      reply: {
        200: Type.Object({ wallets: Type.Array(Wallet), ...PageReply }, { title: 'WalletPage' }),
      },
    },
    async ({ query, caller }) => {
      const page = pageOf(query)
      const { limit, offset } = page
      return { ...(await wallets.list(policy.rowFilter(caller), page)), limit, offset }
    },
  ),
  get: endpoint(
    {
      summary: 'Get a wallet',
      access: 'user',
      readsOnly: true,
      params: Type.Object({ id: Type.String({ maxLength: 64, examples: ['01arz3ndektsv4rrffq69g5fav'] }) }),
      reply: { 200: Wallet },
      errors: [errors.not_found],
    },
    ({ params: { id }, caller }) => wallets.get(id, policy.rowFilter(caller)),
  ),
})
