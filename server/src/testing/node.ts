import { createHash } from 'node:crypto'

import {
  createTestClient,
  http,
  publicActions,
  walletActions,
  type Chain,
  type PrivateKeyAccount,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

import type { Address, Hex } from '../base/hex.ts'
import { startNode, type LocalNode } from '../../../sandbox/src/chains/node.ts'
import { CONTRACTS, type Compiled } from './contracts.ts'
import type { Ending } from './engines.ts'

export type TestNodeOptions = {
  /** Default: 77000001. */
  chainId?: number
  /** How many accounts own 10,000 coins each. Default: 10. */
  accounts?: number
  /** Of how many blocks the state is kept. Default: 128. */
  states?: number
  /** Further arguments of anvil, such as `--no-mining`. */
  arguments?: readonly string[]
}

export type TestAccount = { address: Address; privateKey: Hex; account: PrivateKeyAccount }

/** The same accounts on each node. */
function testAccount(name: string | number): TestAccount {
  const privateKey: Hex = `0x${createHash('sha256').update(`test account ${name}`).digest('hex')}`
  const account = privateKeyToAccount(privateKey)
  return { address: account.address, privateKey, account }
}

/** viem's client of a node for tests: its public, wallet and test actions. */
export function testClient(url: string, chainId: number) {
  const chain: Chain = {
    id: chainId,
    name: 'test',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  }
  return createTestClient({
    mode: 'anvil',
    chain,
    // A transaction is in a block once it was sent.
    pollingInterval: 20,
    cacheTime: 0,
    transport: http(url, { retryCount: 0 }),
  })
    .extend(publicActions)
    .extend(walletActions)
}

export type TestNode = {
  url: string
  chainId: number
  accounts: readonly TestAccount[]
  client: ReturnType<typeof testClient>
  call: LocalNode['call']
  /** Deploys a contract, by an account that is not in `accounts`. */
  deploy(contract: keyof typeof CONTRACTS | Compiled, args?: readonly unknown[]): Promise<Address>
  /** Calls a contract by a transaction of that account, or of one of `accounts`. */
  send(
    address: Address,
    contract: keyof typeof CONTRACTS | Compiled,
    functionName: string,
    args?: readonly unknown[],
    options?: { from?: number; value?: bigint },
  ): Promise<Hex>
  /** Reads from a contract. */
  read(
    address: Address,
    contract: keyof typeof CONTRACTS | Compiled,
    functionName: string,
    args?: readonly unknown[],
  ): Promise<unknown>
  /** Sends native coin of one of `accounts`, by default the last. */
  fund(to: Address, value: bigint, from?: number): Promise<Hex>
  /** Mines empty blocks. */
  mine(blocks?: number): Promise<void>
  /** Replaces the last blocks by empty ones; their transactions are lost. */
  reorg(depth: number): Promise<void>
  stop(): Promise<void>
}

/** Starts a node of its own, and ends it with the test or suite. */
export async function startTestNode(ending: Ending, options: TestNodeOptions = {}): Promise<TestNode> {
  const { chainId = 77_000_001, accounts: count = 10, states = 128, arguments: more = [] } = options
  const accounts = Array.from({ length: count }, (_, at) => testAccount(at))
  const deployer = testAccount('deployer')
  const node = await startNode({
    chainId,
    funded: [...accounts, deployer].map(({ address }) => address),
    states,
    arguments: more,
  })
  const stop = () => node.close()
  ending.after(stop)
  const client = testClient(node.url, chainId)
  const compiled = (contract: keyof typeof CONTRACTS | Compiled): Compiled =>
    typeof contract === 'string' ? CONTRACTS[contract] : contract
  const by = (from?: number) => (from === undefined ? deployer : accounts[from]!).account

  async function mined(hash: Hex): Promise<{ contractAddress?: Address | null | undefined; status: string }> {
    const receipt = await client.waitForTransactionReceipt({ hash })
    if (receipt.status !== 'success') throw new Error(`the transaction ${hash} was reverted`)
    return receipt
  }

  return {
    url: node.url,
    chainId,
    accounts,
    client,
    call: node.call,
    async deploy(contract, args = []) {
      const { abi, bytecode } = compiled(contract)
      const hash = await client.deployContract({ abi, bytecode, args, account: by() })
      return (await mined(hash)).contractAddress!
    },
    async send(address, contract, functionName, args = [], { from, value = 0n } = {}) {
      const { abi } = compiled(contract)
      const hash = await client.writeContract({ address, abi, functionName, args, value, account: by(from) })
      await mined(hash)
      return hash
    },
    read: (address, contract, functionName, args = []) =>
      client.readContract({ address, abi: compiled(contract).abi, functionName, args }),
    async fund(to, value, from = count - 1) {
      const hash = await client.sendTransaction({ account: by(from), to, value })
      await mined(hash)
      return hash
    },
    mine: (blocks = 1) => client.mine({ blocks }),
    async reorg(depth) {
      await node.call('anvil_reorg', [depth, []])
    },
    stop,
  }
}
