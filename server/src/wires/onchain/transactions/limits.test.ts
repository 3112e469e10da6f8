import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import { encodeFunctionData, getAddress, parseAbi, parseEther } from 'viem'

import type { Address } from '../../../base/hex.ts'
import { sql } from '../../../db/sql.ts'
import { eachEngine, endOfSuite } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'
import { refusalOf, RECIPIENT, startSending, type Sending } from './submit.fixture.ts'

const OTHER = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
/** The address of the first contract on a new node. */
const firstContract = '0x4668330d528044fc3edAf31e7117B2c22eeAE6bf'
const ERC20 = parseAbi(['function transfer(address to, uint256 value) returns (bool)'])

eachEngine((engine) => {
  const ending = endOfSuite()
  let sending: Sending
  const contracts: Address[] = []
  const spent = (chain: string) =>
    sending.one.app.app.db.all(sql<{ subject: string; amount: string }>`
      select subject, amount from onchain_spent where chain = ${chain} order by subject`)

  before(async () => {
    sending = await startSending(ending, engine, {
      chains: {
        'per-wallet': { limits: { walletPerDay: '1.000000000000000001' } },
        'per-destination': { limits: { destinationPerDay: '0.5' } },
        // An operator may write them in lower case.
        lists: {
          limits: {
            contracts: [firstContract.toLowerCase()],
            destinations: [RECIPIENT.toLowerCase(), firstContract],
          },
        },
      },
    })
    contracts.push(
      await sending.node.deploy('Token', ['Coin', 'COIN', 18]),
      await sending.node.deploy('Playground'),
    )
    assert.equal(getAddress(contracts[0]!), firstContract)
  })

  test('a wallet sends its limit of a day to the wei, by two replicas at once', async () => {
    const { one, other, funded, clock, rows } = sending
    const signer = await funded('10')
    const send = (at: number, ether: string) =>
      (at % 2 === 0 ? one : other).submit(signer, { on: 'per-wallet', value: parseEther(ether) })
    const results = await Promise.allSettled(Array.from({ length: 15 }, (_one, at) => send(at, '0.1')))
    const reasons = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as Error] : [],
    )
    assert.equal(reasons.length, 5, String(reasons))
    for (const reason of reasons) await refusalOf(Promise.reject(reason), 'LIMIT_EXCEEDED')
    const error = await refusalOf(send(0, '0.000000000000000002'), 'LIMIT_EXCEEDED')
    assert.equal(error.status, 422)
    assert.deepEqual(error.details, { limit: 'walletPerDay', spent: '1', allowed: '1.000000000000000001' })
    await send(1, '0.000000000000000001')
    await refusalOf(send(0, '0.000000000000000001'), 'LIMIT_EXCEEDED')
    // Nothing of the coin is sent.
    await one.submit(signer, { on: 'per-wallet', value: 0n })
    assert.deepEqual(await spent('per-wallet'), [
      { subject: `wallet ${signer.address}`, amount: '1000000000000000001' },
    ])
    assert.equal((await rows(signer)).length, 12)
    await one.submit(await funded(), { on: 'per-wallet', value: parseEther('0.5') })
    clock.advance(86_400_000)
    await send(0, '0.7')
    clock.advance(86_400_000)
    // What was sent on a day is not read any more the day after, and deleted a day later.
    await until(async () => (await spent('per-wallet')).length === 1)
    assert.deepEqual(await spent('per-wallet'), [
      { subject: `wallet ${signer.address}`, amount: String(parseEther('0.7')) },
    ])
  })

  test('all wallets share the limit of a destination', async () => {
    const { one, other, funded } = sending
    const signers = await Promise.all(Array.from({ length: 8 }, () => funded()))
    const send = (at: number, to: Address) =>
      (at % 2 === 0 ? one : other).submit(signers[at]!, {
        on: 'per-destination',
        to,
        value: parseEther('0.1'),
      })
    const results = await Promise.allSettled(signers.map((_one, at) => send(at, RECIPIENT)))
    const done = results.filter(({ status }) => status === 'fulfilled')
    assert.equal(done.length, 5, JSON.stringify(results))
    // Written otherwise, it is the same address.
    const error = await refusalOf(send(0, RECIPIENT.toLowerCase() as Address), 'LIMIT_EXCEEDED')
    assert.deepEqual(error.details, { limit: 'destinationPerDay', spent: '0.5', allowed: '0.5' })
    await send(0, OTHER)
    assert.deepEqual(await spent('per-destination'), [
      { subject: `destination ${RECIPIENT}`, amount: String(parseEther('0.5')) },
      { subject: `destination ${OTHER}`, amount: String(parseEther('0.1')) },
    ])
    // What is swept is the operator's own.
    await one.submit(signers[0]!, {
      on: 'per-destination',
      kind: 'sweep',
      walletId: '',
      value: parseEther('0.6'),
    })
  })

  test('only listed contracts are called, and the coin goes to listed addresses', async () => {
    const { one, funded, rows, node } = sending
    const [token, playground] = contracts as [Address, Address]
    const signer = await funded()
    const on = 'lists'
    const data = encodeFunctionData({ abi: ERC20, functionName: 'transfer', args: [OTHER, 0n] })
    const isNotListed = async (intent: object, limit: string) => {
      const error = await refusalOf(one.submit(signer, { on, ...intent }), 'LIMIT_EXCEEDED')
      assert.deepEqual(error.details, { limit })
    }
    await isNotListed({ to: playground, value: 0n, data }, 'contracts')
    await isNotListed({ to: playground, value: 1n }, 'contracts')
    await isNotListed({ to: OTHER, value: 1n }, 'destinations')
    assert.deepEqual(await rows(signer), [])
    await one.submit(signer, { on, to: token, value: 0n, data })
    await one.submit(signer, { on, to: RECIPIENT, value: 1n })
    // An account that delegates to a contract is an account.
    await node.client.setCode({ address: RECIPIENT, bytecode: `0xef0100${playground.slice(2)}` })
    await one.submit(signer, { on, to: RECIPIENT, value: 1n })
    assert.equal((await rows(signer)).length, 3)
  })
})
