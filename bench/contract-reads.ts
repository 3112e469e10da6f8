import { Agent } from 'node:http'

import { encodeDeployData, encodeFunctionData, erc20Abi } from 'viem'

import type { Bench } from './bench.ts'
import { CONTRACTS } from '../src/testing/contracts.ts'
import { FUNDS, startChain } from './chain-node.ts'
import { ask, askFor } from './client.ts'
import { median, quantile } from './statistics.ts'

/** The 50th percentile of one connection, in milliseconds; medians of the rounds. */
export type ReadResult = { bare: number; subject: number; more: number }

const CALLS = 300
const DEPLOYER = '0x00000000000000000000000000000000000000d0'

/** How much longer takes the read of a contract than the same call at the node? */
export async function runContractReads(bench: Bench, faults: string[]): Promise<ReadResult> {
  const node = await startChain()
  const server = await bench.open('sixwire', 'contractreads', { environment: node.environment })
  await node.call('anvil_setBalance', [DEPLOYER, FUNDS])
  await node.call('anvil_impersonateAccount', [DEPLOYER])
  const data = encodeDeployData({
    ...CONTRACTS.Token,
    args: ['Bench', 'BNC', 6],
  })
  const hash = await node.call('eth_sendTransaction', [{ from: DEPLOYER, data, gas: '0x4c4b40' }])
  await node.call('evm_mine')
  const receipt = (await node.call('eth_getTransactionReceipt', [hash])) as { contractAddress: string }
  const address = receipt.contractAddress
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })

  const call = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [DEPLOYER] })
  const bareBody = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'eth_call',
    params: [{ to: address, data: call }, 'latest'],
  })
  const subjectBody = JSON.stringify({ address, abi: 'erc20', method: 'balanceOf', args: [DEPLOYER] })

  async function p50(work: () => Promise<unknown>): Promise<number> {
    const times: number[] = []
    for (let at = 0; at < CALLS; at++) {
      const begun = performance.now()
      await work()
      times.push(performance.now() - begun)
    }
    return quantile(times, 0.5)
  }
  const bare = () => p50(() => nodeCall(node.url, bareBody, agent))
  const { token } = server
  const subject = () =>
    p50(() => askFor(server.base, 'POST /onchain/contracts/read', { token, body: subjectBody, agent }))

  const { status } = await ask(server.base, 'POST /onchain/contracts/read', { token, body: subjectBody })
  if (status !== 200) faults.push(`onchain: a contract read answered ${status}`)
  await bare()
  await subject()
  const rounds: { bare: number; subject: number }[] = []
  for (let round = 1; round <= bench.options.rounds; round++) {
    bench.note(`onchain: contract reads, round ${round} of ${bench.options.rounds}`)
    rounds.push({ bare: await bare(), subject: await subject() })
  }
  agent.destroy()
  await server.stop()
  await node.close()
  return {
    bare: median(rounds.map((one) => one.bare)),
    subject: median(rounds.map((one) => one.subject)),
    more: median(rounds.map((one) => one.subject - one.bare)),
  }
}

const nodeCall = (url: string, body: string, agent: Agent) => askFor(url, 'POST /', { body, agent })
