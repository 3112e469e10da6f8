import assert from 'node:assert/strict'
import { afterEach, before, beforeEach, describe, test } from 'node:test'

import { encodeFunctionData, formatEther, parseAbi, parseTransaction, type Abi } from 'viem'
import { generatePrivateKey } from 'viem/accounts'

import type { Address } from '../../../base/hex.ts'
import { errors } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { allRows } from '../../../base/row-filter.ts'
import { requireRow } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { CONTRACTS } from '../../../testing/contracts.ts'
import { eachEngine, endOfSuite } from '../../../testing/engines.ts'
import type { ProxyFault } from '../../../testing/rpc-proxy.ts'
import type { Signer } from '../index.ts'
import { assertQueue, refusalOf, signerOf, RECIPIENT, startSending, type Sending } from './submit.fixture.ts'

const { abi } = CONTRACTS.Playground as { abi: Abi }

eachEngine((engine) => {
  const ending = endOfSuite()
  let sending: Sending
  let playground: Address

  before(async () => {
    sending = await startSending(ending, engine, { chains: { capped: { maxFeeGwei: 1.2 } } })
    playground = await sending.node.deploy('Playground')
  })

  const call = (functionName: string, args: readonly unknown[] = []) => ({
    kind: 'contract' as const,
    to: playground,
    value: 0n,
    data: encodeFunctionData({ abi, functionName, args }),
    abi,
  })

  describe('nonces', () => {
    test('parallel sends by two replicas leave no gap, and refused ones none either', async () => {
      const { one, other, funded } = sending
      const signer = await funded()
      const results = await Promise.allSettled(
        Array.from({ length: 60 }, (_one, at) => {
          const { submit } = at % 2 === 0 ? one : other
          if (at % 10 === 4) return submit(signer, call('failWithoutData'))
          return submit(signer, { value: BigInt(at) })
        }),
      )
      const done = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
      assert.equal(done.length, 54, JSON.stringify(results.filter(({ status }) => status === 'rejected')))
      assert.equal(new Set(done.map(({ nonce }) => nonce)).size, 54)
      await assertQueue(sending, signer, { count: 54 })
    })

    test('an address that was used elsewhere begins after that, and goes on after it', async () => {
      const { node, one, rows } = sending
      const { privateKey, account } = node.accounts[0]!
      const elsewhere = () => node.client.sendTransaction({ account, to: RECIPIENT, value: 1n })
      await elsewhere()
      await elsewhere()
      const signer = signerOf(privateKey)
      const first = await one.submit(signer)
      assert.equal(first.nonce, 2)
      await assertQueue(sending, signer, { count: 1, first: 2 })
      await elsewhere()
      sending.clock.advance(1_000)
      assert.equal((await one.submit(signer)).nonce, 4)
      assert.match(one.app.log(), /is used elsewhere/)
      assert.equal((await rows(signer)).length, 2)
    })

    test('the same reference sends once, from two replicas and in one', async () => {
      const { one, other, funded } = sending
      const signer = await funded()
      const rows = await Promise.all(
        [one, other, one, other].map(({ submit }) => submit(signer, { reference: 'order 7' })),
      )
      assert.equal(new Set(rows.map(({ hash }) => hash)).size, 1)
      const again = await other.submit(await funded(), { reference: 'order 7', value: 5n })
      assert.equal(again.hash, rows[0]!.hash)
      await assertQueue(sending, signer, { count: 1 })
    })

    const insertSql = sql`insert into onchain_lines (chain, address, next_nonce, created_at) values ('none', '0x', 0, 0)`
    for (const [what, steps] of [
      [
        'a step refuses',
        [requireRow(sql`delete from onchain_lines where chain = 'none'`, () => errors.conflict())],
      ],
      ['a constraint refuses', [insertSql, insertSql]],
    ] as const)
      test(`what ${what} of one fails that one only`, async () => {
        const { one, funded } = sending
        const signer = await funded()
        const results = await Promise.allSettled(
          Array.from({ length: 9 }, (_one, at) =>
            one.submit(signer, at === 4 ? { stepsSql: () => steps } : {}),
          ),
        )
        assert.deepEqual(
          results.map(({ status }) => status === 'fulfilled'),
          Array.from({ length: 9 }, (_one, at) => at !== 4),
        )
        await assertQueue(sending, signer, { count: 8 })
      })

    test('a key that cannot sign, or signs as another one, stores nothing', async () => {
      const { one, funded, rows } = sending
      const signer = await funded()
      const wrong = signerOf(generatePrivateKey())
      const broken: [Signer['sign'], string][] = [
        [async () => ({ kind: 'refused', reason: 'denied' }), 'PROVIDER_ERROR'],
        [async () => ({ kind: 'retry', reason: 'busy' }), 'UNAVAILABLE'],
        [async () => ({ kind: 'unknown', reason: 'no answer' }), 'UNAVAILABLE'],
        [(hash, limitMs) => wrong.sign(hash, limitMs), 'PROVIDER_ERROR'],
        [
          async () => ({
            kind: 'accepted',
            signature: { r: `0x${'f'.repeat(64)}`, s: `0x${'1'.repeat(64)}`, yParity: 0 },
          }),
          'PROVIDER_ERROR',
        ],
      ]
      for (const [sign, code] of broken) await refusalOf(one.submit({ address: signer.address, sign }), code)
      assert.deepEqual(await rows(signer), [])
      let calls = 0
      const sometimes: Signer = {
        address: signer.address,
        sign: (hash, limitMs) =>
          ++calls === 3 ? Promise.resolve({ kind: 'retry', reason: 'busy' }) : signer.sign(hash, limitMs),
      }
      const results = await Promise.allSettled(Array.from({ length: 6 }, () => one.submit(sometimes)))
      assert.equal(results.filter(({ status }) => status === 'rejected').length, 1)
      await assertQueue(sending, signer, { count: 5 })
    })
  })

  describe('funds', () => {
    const on = 'capped'
    const fee = 21_000n * 1_200_000_000n
    // Above this base fee a transaction always costs the cap.
    beforeEach(async () => {
      await sending.node.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 1_000_000_000n })
      await sending.node.mine()
      sending.clock.advance(1_000)
    })
    afterEach(() => sending.node.client.setAutomine(true))

    test('parallel sends spend what there is to the wei, and no more', async () => {
      const { one, other, node, funded } = sending
      const signer = await funded(formatEther(5n * (fee + 1_000n)))
      // What is mined costs less than what it might have cost.
      await node.client.setAutomine(false)
      const results = await Promise.allSettled(
        Array.from({ length: 12 }, (_one, at) =>
          (at % 2 === 0 ? one : other).submit(signer, { on, value: 1_000n }),
        ),
      )
      const stored = results.filter(({ status }) => status === 'fulfilled')
      assert.equal(stored.length, 5, JSON.stringify(results))
      const error = await refusalOf(one.submit(signer, { on, value: 0n }), 'INSUFFICIENT_FUNDS')
      const balance = formatEther(5n * (fee + 1_000n))
      assert.deepEqual(error.details, { balance, pending: balance, cost: formatEther(fee) })
      await node.client.setAutomine(true)
      await node.mine()
      await assertQueue(sending, signer, { count: 5 })
    })

    test('a wei too little is refused with what there is', async () => {
      const { one, node, funded, rows } = sending
      const signer = await funded(formatEther(fee))
      const error = await refusalOf(one.submit(signer, { on, value: 1n }), 'INSUFFICIENT_FUNDS')
      assert.equal(error.status, 422)
      assert.deepEqual(error.details, {
        balance: formatEther(fee),
        pending: '0',
        cost: formatEther(fee + 1n),
      })
      await refusalOf(one.submit(signer, { on, value: 10n ** 30n }), 'INSUFFICIENT_FUNDS')
      await refusalOf(one.submit(signer, { ...call('deposit'), on, value: 2n ** 255n }), 'INSUFFICIENT_FUNDS')
      assert.deepEqual(await rows(signer), [])
      // What came in at this moment counts, although the head that is remembered is older.
      await node.client.setBalance({ address: signer.address, value: fee + 1n })
      await one.submit(signer, { on, value: 1n })
    })
  })

  describe('simulation', () => {
    const refusals: [functionName: string, args: readonly unknown[], details: object][] = [
      ['failWithString', ['not now'], { reason: 'not now' }],
      [
        'failWithError',
        [5n, 2n],
        { reason: 'TooMuch(5, 2)', error: 'TooMuch', args: { wanted: '5', available: '2' } },
      ],
      [
        'failWithUnknownError',
        [],
        { reason: 'an error that its ABI does not have (0xdeadbeef)', selector: '0xdeadbeef' },
      ],
      ['failWithoutData', [], { reason: 'no reason given' }],
      ['failWithAssert', [], { reason: 'an assertion failed (panic 0x1)' }],
      ['failWithOverflow', [1n], { reason: 'an arithmetic operation overflowed (panic 0x11)' }],
      ['failWithDivision', [0n], { reason: 'division or modulo by zero (panic 0x12)' }],
      ['failWithIndex', [3n], { reason: 'an index is out of the bounds of the array (panic 0x32)' }],
    ]
    test('a call that reverts is refused with the reason, and costs nothing', async () => {
      const { one, funded, rows } = sending
      const signer = await funded()
      for (const [functionName, args, details] of refusals) {
        const error = await refusalOf(one.submit(signer, call(functionName, args)), 'CONTRACT_REVERTED')
        assert.deepEqual(error.details, details, functionName)
      }
      const owner = { ...call('failWithOwnable'), abi: parseAbi(['function failWithOwnable()']) }
      const error = await refusalOf(one.submit(signer, owner), 'CONTRACT_REVERTED')
      assert.deepEqual(error.details?.['args'], { account: signer.address })
      await refusalOf(one.submit(signer, call('failWithGas')), 'CONTRACT_REVERTED')
      const token = await sending.node.deploy('Token', ['Coin', 'COIN', 18])
      const coin = await refusalOf(one.submit(signer, { to: token, value: 5n }), 'CONTRACT_REVERTED')
      assert.equal(coin.details?.['reason'], 'no reason given')
      assert.deepEqual(await rows(signer), [])
    })

    test('calls get a quarter more gas than estimated, transfers exactly what they need', async () => {
      const { one, funded, node } = sending
      const signer = await funded()
      const transfer = await one.submit(signer)
      assert.equal(transfer.gas, 21_000)
      const intent = call('count')
      const { to, data } = intent
      const estimate = await node.client.estimateGas({ account: signer.address, to, data })
      const { gas } = await one.submit(signer, intent)
      assert.equal(gas, Math.ceil(Number(estimate) * 1.25))
      await assertQueue(sending, signer, { count: 2 })
    })

    test('data of more bytes than nodes take is refused, and what just fits gets the gas of its data', async () => {
      const { one, funded, rows } = sending
      const signer = await funded()
      const data = (bytes: number) => call('echoBytes', [`0x${'ff'.repeat(bytes)}`])
      // A selector, an offset, the length, and the envelope of the transaction.
      const most = 131_072 - 192 - 4 - 64
      const wasted = most % 32
      const error = await refusalOf(one.submit(signer, data(most - wasted + 1)), 'LIMIT_EXCEEDED')
      assert.match(error.message, /nodes take 131072: send less data/)
      assert.equal(error.details?.['limit'], 'size')
      const { gas } = await one.submit(signer, data(most - wasted))
      // https://eips.ethereum.org/EIPS/eip-7623
      assert.ok(gas >= 21_000 + 40 * (most - wasted), String(gas))
      const [row, ...others] = await rows(signer)
      assert.ok((row!.raw.length - 2) / 2 <= 131_072)
      assert.equal(others.length, 0)
      await assertQueue(sending, signer, { count: 1 })
    })
  })

  describe('nodes that are not believed', () => {
    type Lie = (result: unknown) => unknown
    const lies: [what: string, method: string, lie: Lie][] = [
      ['another chain id', 'eth_chainId', () => '0x1'],
      ['no chain id', 'eth_chainId', () => null],
      ['a balance that is none', 'eth_getBalance', () => 'much'],
      ['an impossible count', 'eth_getTransactionCount', () => `0x${'f'.repeat(40)}`],
      ['an estimate that is none', 'eth_estimateGas', () => '21000'],
      ['an estimate below the intrinsic cost', 'eth_estimateGas', () => '0x1'],
    ]
    test('the next one is asked', async () => {
      const { one, funded, proxies } = sending
      for (const [what, method, lie] of lies) {
        const signer = await funded()
        proxies[0].fault({ method, lie })
        sending.clock.advance(15_000)
        const { nonce } = await one.submit(signer, { value: 2n })
        assert.equal(nonce, 0, what)
        proxies[0].heal()
        await assertQueue(sending, signer, { count: 1 })
      }
    })

    test('nothing is signed if all of them lie', async () => {
      const { one, funded, proxies, rows } = sending
      const signer = await funded()
      for (const [what, method, lie] of lies) {
        proxies.forEach((proxy) => proxy.fault({ method, lie }))
        await refusalOf(one.submit(signer), 'PROVIDER_ERROR')
        proxies.forEach((proxy) => proxy.heal())
        assert.deepEqual(await rows(signer), [], what)
      }
    })

    test('a count below what is final, or above what other nodes show', async () => {
      const { one, funded, proxies } = sending
      const signer = await funded()
      await one.submit(signer)
      await one.submit(signer)
      await assertQueue(sending, signer, { count: 2 })
      await one.app.app.db.write(sql`
        update onchain_transactions set is_final = 1, block_number = 1, status = 'confirmed'
        where sender = ${signer.address}`)
      for (const count of ['0x0', '0x1', '0x63']) {
        sending.clock.advance(15_000)
        proxies[0].fault({ method: 'eth_getTransactionCount', lie: () => count })
        await one.submit(signer)
        proxies[0].heal()
      }
      await assertQueue(sending, signer, { count: 5 })
    })

    test('a new queue begins after what two nodes show as pending, and not after what one shows', async () => {
      const { one, node, proxies } = sending
      const [, first, second] = node.accounts
      for (const { account } of [first!, second!])
        await node.client.sendTransaction({ account, to: RECIPIENT, value: 1n })
      const lie: ProxyFault = {
        method: 'eth_getTransactionCount',
        when: ({ params }) => params![1] === 'pending',
        lie: () => '0x5',
      }
      proxies[0].fault(lie)
      sending.clock.advance(15_000)
      assert.equal((await one.submit(signerOf(first!.privateKey))).nonce, 1)
      proxies[1].fault(lie)
      assert.equal((await one.submit(signerOf(second!.privateKey))).nonce, 5)
      proxies.forEach((proxy) => proxy.heal())
    })

    test('the nonces of a key that was created here begin at 0, whatever a node shows', async () => {
      const { one, node, proxies } = sending
      for (const [block, liars] of [
        ['pending', proxies],
        ['any', [proxies[0]]],
      ] as const) {
        const { _id, address } = await one.service.wallets.create({
          id: newId(Date.now()),
          owner: 'somebody',
        })
        await node.client.setBalance({ address, value: 10n ** 18n })
        const signer = await one.service.wallets.signerOf(_id, allRows)
        for (const proxy of liars)
          proxy.fault({
            method: 'eth_getTransactionCount',
            when: ({ params }) => block === 'any' || params![1] === block,
            lie: () => '0x5',
          })
        sending.clock.advance(15_000)
        assert.equal((await one.submit(signer)).nonce, 0, block)
        proxies.forEach((proxy) => proxy.heal())
      }
    })

    test('a node that is a block behind is passed over', async () => {
      const { one, funded, proxies } = sending
      const signer = await funded()
      const behind = { code: -32_000, message: 'header not found' }
      proxies[0].fault({ method: 'eth_getBalance', error: behind })
      sending.clock.advance(15_000)
      await one.submit(signer)
      proxies[0].heal()
      await assertQueue(sending, signer, { count: 1 })
    })

    test('a simulation that a node cannot finish fails alone', async () => {
      const { one, funded, proxies } = sending
      const signer = await funded()
      const heavy = call('burnGas', [20_000n])
      const isHeavy = ({ params }: { params?: unknown[] }) =>
        (params?.[0] as { data?: string } | undefined)?.data === heavy.data
      proxies.forEach((proxy) => proxy.fault({ method: 'eth_estimateGas', when: isHeavy, drop: 'before' }))
      const results = await Promise.allSettled([
        one.submit(signer),
        one.submit(signer, heavy),
        one.submit(signer),
        one.submit(signer),
      ])
      proxies.forEach((proxy) => proxy.heal())
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
      )
      await assertQueue(sending, signer, { count: 3 })
    })

    test('no node: nothing is signed, and no address is shown', async () => {
      const { one, funded, proxies, rows } = sending
      const signer = await funded()
      proxies.forEach((proxy) => proxy.fault({ drop: 'before' }))
      sending.clock.advance(1_000)
      await refusalOf(one.submit(signer), 'PROVIDER_ERROR')
      proxies.forEach((proxy) => proxy.heal())
      assert.deepEqual(await rows(signer), [])
    })
  })

  test('a base fee above the cap refuses, and fees stay below it', async () => {
    const { one, node, funded, rows } = sending
    const signer = await funded()
    await node.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 501n * 10n ** 9n })
    await node.mine()
    sending.clock.advance(1_000)
    const error = await refusalOf(one.submit(signer), 'UNAVAILABLE')
    assert.match(error.message, /base fee of ethereum is 501 gwei, and transactions pay 500 at most/)
    await node.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 400n * 10n ** 9n })
    await node.mine()
    sending.clock.advance(1_000)
    await one.submit(signer)
    const [row] = await rows(signer)
    assert.equal(parseTransaction(row!.raw).maxFeePerGas, 500n * 10n ** 9n)

    // No node takes what may cost more than one coin in all.
    const rich = await funded('10')
    const dear = await refusalOf(one.submit(rich, call('burnGas', [2_400_000n])), 'LIMIT_EXCEEDED')
    assert.match(dear.message, /one may cost 1 \(maxTransactionFee of ethereum\)/)
    const { gas } = await one.submit(rich, call('burnGas', [1_600_000n]))
    const [bounded] = await rows(rich)
    assert.equal(parseTransaction(bounded!.raw).maxFeePerGas, 10n ** 18n / BigInt(gas))
    assert.ok(BigInt(bounded!.cost) <= 10n ** 18n)
  })
})
