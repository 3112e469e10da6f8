import { Type } from '../../../base/schema.ts'
import { errors, invalid } from '../../../base/errors.ts'
import { parseUnits } from '../../../base/money.ts'
import { json } from '../../../http/bodies.ts'
import { endpoint } from '../../../http/route.ts'
import type { Policy } from '../../../kernel/policy/policy.ts'
import { addressOf } from '../chains/address.ts'
import { COIN_DECIMALS } from '../chains/chain.ts'
import type { Chains } from '../chains/chains.ts'
import type { TokenReader } from '../chains/tokens.ts'
import { onchainErrors } from '../errors.ts'
import { AddressText, ChainName, CoinAmount, SentTransaction, SIGNING_LIMIT, WalletId } from './schemas.ts'
import type { Submit } from '../transactions/intent.ts'
import { sentOf } from '../transactions/transactions.ts'
import type { Wallets } from '../wallets/wallets.ts'
import { createAbis, ITEMS_MAX } from '../contracts/abi.ts'
import { encodeArguments } from '../contracts/arguments.ts'
import { nativeBalance, tokenBalance } from '../contracts/balances.ts'
import { calldataOf, readContract, requireCode, type ContractCall } from '../contracts/contracts.ts'
import { STANDARDS } from '../contracts/standard-interfaces.ts'

const Balance = Type.Object(
  {
    address: Type.String(),
    balance: Type.String({ description: 'Decimal, in the coin or token.', examples: ['1.5'] }),
    symbol: Type.String(),
    chain: Type.String(),
  },
  { title: 'AddressBalance' },
)

const ContractResult = Type.Object(
  {
    result: Type.String({
      description:
        'An integer in decimal, an address, true or false, a string, bytes in hex; a list or a struct as JSON, in which integers are strings.',
    }),
    method: Type.String(),
  },
  { title: 'ContractResult' },
)

const Abi = Type.Union(
  [Type.String({ maxLength: 100 }), Type.Array(Type.Unknown(), { maxItems: ITEMS_MAX })],
  {
    title: 'ContractAbi',
    description: `${STANDARDS.join(', ')} (in any case), or the ABI as compilers write it in JSON.`,
    examples: [STANDARDS[0]],
  },
)

/** What a call of a contract says. @param example a method of the first standard, and its arguments */
const callFields = (example: { method: string; args: unknown[] }) => ({
  address: AddressText('The contract.'),
  abi: Abi,
  method: Type.String({
    minLength: 1,
    maxLength: 2_000,
    description: 'The name of a function, or its signature: safeTransferFrom(address,address,uint256).',
    examples: [example.method],
  }),
  args: Type.Array(Type.Unknown(), {
    default: [],
    description:
      'Integers as decimal strings or JSON numbers up to 2^53 - 1, addresses and bytes as hex, structs as objects or arrays.',
    examples: [example.args],
  }),
  chain: ChainName,
})

const ADDRESS = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const ReadRequest = Type.Object(callFields({ method: 'balanceOf', args: [ADDRESS] }), {
  title: 'ReadContractRequest',
})
const WriteRequest = Type.Object(
  {
    ...callFields({ method: 'transfer', args: [ADDRESS, '250000'] }),
    walletId: WalletId,
    value: Type.Optional(
      CoinAmount('How much is sent along, to a payable function only.', { hasExample: false }),
    ),
  },
  { title: 'WriteContractRequest' },
)

/** Balances, and calls of contracts. */
export function contractEndpoints(wire: {
  chains: Chains
  tokens: TokenReader
  wallets: Wallets
  submit: Submit
  policy: Policy
}) {
  const { chains, tokens, wallets, submit, policy } = wire
  const readAbi = createAbis()

  /** What a request calls, checked as far as that needs no node. */
  function callOf(body: {
    address: string
    abi: string | readonly unknown[]
    method: string
    args: readonly unknown[]
    chain?: string
  }): ContractCall {
    const chain = chains.of(body.chain)
    const abi = readAbi(body.abi)
    const method = abi.functionOf(body.method, body.args)
    const encoding = encodeArguments(method.inputs, body.args, '/body/args')
    return { chain, address: addressOf(body.address), abi, method, encoded: encoding }
  }

  return {
    getBalance: endpoint(
      {
        summary: 'Read a balance',
        description: 'Of the native coin, or of an ERC-20 token.',
        access: 'user',
        params: Type.Object({ address: AddressText('Whose balance.') }),
        query: Type.Object({
          chain: ChainName,
          token: Type.Optional(
            AddressText('The contract of an ERC-20 token. Default: the native coin.', { hasExample: false }),
          ),
        }),
        reply: { 200: Balance },
        errors: [errors.provider_not_configured, onchainErrors.provider_error],
      },
      ({ params, query }) => {
        const chain = chains.of(query.chain, '/query/chain')
        const address = addressOf(params.address)
        return query.token === undefined
          ? nativeBalance(chain, address)
          : tokenBalance(chain, tokens, { address, token: addressOf(query.token) })
      },
    ),
    read: endpoint(
      {
        summary: 'Read from a contract',
        description: 'Calls a function without a transaction. It costs nothing and changes nothing.',
        access: 'user',
        changesNothing: true,
        body: json(ReadRequest),
        reply: { 200: ContractResult },
        errors: [
          errors.provider_not_configured,
          onchainErrors.contract_reverted,
          onchainErrors.provider_error,
        ],
      },
      async ({ body }) => ({ result: await readContract(callOf(body)), method: body.method }),
    ),
    write: endpoint(
      {
        limit: SIGNING_LIMIT,
        summary: 'Call a contract by a transaction',
        description: 'It is simulated first: what the contract refuses is not signed.',
        access: 'user',
        idempotent: true,
        body: json(WriteRequest),
        reply: { 200: SentTransaction },
        errors: [
          errors.provider_not_configured,
          errors.not_found,
          onchainErrors.contract_reverted,
          onchainErrors.insufficient_funds,
          onchainErrors.limit_exceeded,
          onchainErrors.unsupported_chain,
          onchainErrors.provider_error,
        ],
      },
      async ({ body, caller, recordId }) => {
        const call = callOf(body)
        const { chain, address, method, abi } = call
        const value = parseUnits(body.value ?? '0', COIN_DECIMALS)
        if (method.isView)
          throw invalid({
            path: '/body/method',
            message: `${method.signature} changes nothing: call POST /onchain/contracts/read`,
          })
        if (value > 0n && !method.isPayable)
          throw invalid({
            path: '/body/value',
            message: `must be absent: ${method.signature} is not payable`,
          })
        const signer = await wallets.signerOf(body.walletId, policy.rowFilter(caller))
        await requireCode(chain, address)
        const row = await submit({
          chain,
          signer,
          owner: caller.id,
          walletId: signer.walletId,
          kind: 'contract',
          to: address,
          value,
          data: calldataOf(call),
          abi: abi.errors,
          reference: recordId,
        })
        return sentOf(row)
      },
    ),
  }
}
