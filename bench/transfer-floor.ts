// viem used bare: transfers of wallets with hand-kept nonces, for so many callers at a time, for so long. Prints how many
// transactions the node has taken.
import { createWalletClient, http, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

import { CHAIN_ID } from './chain-node.ts'

type Job = {
  url: string
  keys: Hex[]
  nonces: number[]
  to: Hex
  callers: number
  seconds: number
  /** Whether gas and fees are given, and not asked of the node for each transfer. */
  isGiven: boolean
}

const { url, keys, nonces, to, callers, seconds, isGiven } = JSON.parse(process.argv[2]!) as Job
const chain = {
  id: CHAIN_ID,
  name: 'bench',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [url] } },
}
const wallets = keys.map((key, at) => ({
  client: createWalletClient({
    account: privateKeyToAccount(key),
    chain,
    transport: http(url, { retryCount: 0 }),
  }),
  nonce: nonces[at]!,
}))
const given = { gas: 21_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n } as const
const until = performance.now() + seconds * 1000
let sent = 0

async function work(wallet: (typeof wallets)[number]): Promise<void> {
  for (; performance.now() < until; sent++)
    await wallet.client.sendTransaction({ to, value: 1n, nonce: wallet.nonce++, ...(isGiven && given) })
}

await Promise.all(Array.from({ length: callers }, (_one, at) => work(wallets[at % wallets.length]!)))
console.log(sent)
