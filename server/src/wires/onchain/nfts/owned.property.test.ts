// Whatever is minted, moved and reorganised, the index ends equal to what the contracts say.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import fc from 'fast-check'
import { getAddress, zeroAddress } from 'viem'

import type { Address } from '../../../base/hex.ts'
import { someEngine, endOfSuite } from '../../../testing/engines.ts'
import { isLongRun } from '../../../testing/long-run.ts'
import { startTestNode, type TestNode } from '../../../testing/node.ts'
import { startGallery, type Gallery } from './nft.fixture.ts'

const OWNERS = 3
const IDS = 3
const TOKENS = 9

type Action =
  | { kind: 'mint'; to: number; token: number; count: number }
  | { kind: 'move'; token: number; to: number }
  | { kind: 'mintMany'; to: number; id: number; amount: number }
  | { kind: 'moveMany'; from: number; to: number; id: number; share: number }
  | { kind: 'moveBatch'; from: number; to: number; ids: number[]; share: number }
  | { kind: 'mine'; blocks: number }
  | { kind: 'reorg'; depth: number }
  | { kind: 'check'; other: boolean }

const owner = fc.nat(OWNERS - 1)
const id = fc.integer({ min: 1, max: IDS })
const share = fc.integer({ min: 0, max: 4 })
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('mint'),
      to: owner,
      token: fc.integer({ min: 1, max: TOKENS }),
      count: fc.integer({ min: 1, max: 3 }),
    }),
  },
  // To the owner after the last one: it is burned.
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('move'),
      token: fc.integer({ min: 1, max: TOKENS }),
      to: fc.nat(OWNERS),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('mintMany'),
      to: owner,
      id,
      amount: fc.integer({ min: 1, max: 9 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('moveMany'), from: owner, to: owner, id, share }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('moveBatch'),
      from: owner,
      to: owner,
      ids: fc.array(id, { maxLength: 3 }),
      share,
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('mine'), blocks: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('reorg'), depth: fc.integer({ min: 1, max: 15 }) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('check'), other: fc.boolean() }) },
)

let node: TestNode

async function run(gallery: Gallery, actions: readonly Action[]): Promise<void> {
  const [erc721, erc1155] = [
    getAddress(await node.deploy('ScanNft')),
    getAddress(await node.deploy('MultiToken')),
  ]
  const first = await node.client.getBlockNumber()
  const addressAt = (at: number): Address => node.accounts[at]!.address
  const ownerOf = (token: number) =>
    node.read(erc721, 'ScanNft', 'ownerOf', [BigInt(token)]).catch(() => zeroAddress)
  const balanceOf = async (at: number, token: number) =>
    (await node.read(erc1155, 'MultiToken', 'balanceOf', [addressAt(at), BigInt(token)])) as bigint

  async function act(one: Action): Promise<void> {
    if (one.kind === 'mint')
      for (let token = one.token; token < one.token + one.count; token++)
        if (token <= TOKENS && (await ownerOf(token)) === zeroAddress)
          await node.send(erc721, 'ScanNft', 'mintMany', [addressAt(one.to), BigInt(token), 1n])
    if (one.kind === 'move') {
      const from = await ownerOf(one.token)
      const to = one.to === OWNERS ? zeroAddress : addressAt(one.to)
      if (from !== zeroAddress) await node.send(erc721, 'ScanNft', 'move', [from, to, BigInt(one.token)])
    }
    if (one.kind === 'mintMany')
      await node.send(erc1155, 'MultiToken', 'mint', [
        addressAt(one.to),
        BigInt(one.id),
        BigInt(one.amount),
        '0x',
      ])
    if (one.kind === 'moveMany') {
      const amount = ((await balanceOf(one.from, one.id)) * BigInt(one.share)) / 4n
      const args = [addressAt(one.from), addressAt(one.to), BigInt(one.id), amount, '0x']
      await node.send(erc1155, 'MultiToken', 'safeTransferFrom', args, { from: one.from })
    }
    if (one.kind === 'moveBatch') {
      const ids = one.ids.map(BigInt)
      const amounts = await Promise.all(
        one.ids.map(async (token) => ((await balanceOf(one.from, token)) * BigInt(one.share)) / 12n),
      )
      const args = [addressAt(one.from), addressAt(one.to), ids, amounts, '0x']
      await node.send(erc1155, 'MultiToken', 'safeBatchTransferFrom', args, { from: one.from })
    }
    if (one.kind === 'mine') await node.mine(one.blocks)
    if (one.kind === 'reorg') {
      const depth = Math.min(one.depth, Number((await node.client.getBlockNumber()) - first))
      if (depth > 0) await node.reorg(depth)
    }
    if (one.kind === 'check') await check(one.other)
  }

  async function check(other: boolean): Promise<void> {
    const owners = await Promise.all(Array.from({ length: TOKENS }, (_one, at) => ownerOf(at + 1)))
    for (let at = 0; at < OWNERS; at++) {
      const app = other ? gallery.other : gallery.app
      const ids = owners.flatMap((address, index) =>
        address === addressAt(at) ? [[String(index + 1), '1']] : [],
      )
      assert.deepEqual(await gallery.held(erc721, addressAt(at), app), Object.fromEntries(ids))
      const balances = await Promise.all(
        Array.from({ length: IDS }, async (_one, index) => [
          String(index + 1),
          String(await balanceOf(at, index + 1)),
        ]),
      )
      const held = balances.filter(([, balance]) => balance !== '0')
      assert.deepEqual(await gallery.held(erc1155, addressAt(at), app), Object.fromEntries(held))
    }
  }

  for (const one of actions) await act(one)
  await check(true)
  await check(false)
}

describe('the index of transfers', () => {
  const ending = endOfSuite()
  before(async () => {
    node = await startTestNode(ending)
  })

  someEngine((engine) => {
    const end = endOfSuite()
    test('equals what the contracts say', async () => {
      const gallery = await startGallery(end, engine, { node, replicas: true })
      await fc.assert(
        fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 40, size: 'max' }), (actions) =>
          run(gallery, actions),
        ),
        { numRuns: isLongRun ? 100 : 3, endOnFailure: true },
      )
    })
  })
})
