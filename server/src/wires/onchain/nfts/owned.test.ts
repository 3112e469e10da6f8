import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { getAddress } from 'viem'

import type { Address } from '../../../base/hex.ts'
import { sql } from '../../../db/sql.ts'
import { eachEngine, endOfSuite } from '../../../testing/engines.ts'
import { startTestNode, type TestNode } from '../../../testing/node.ts'
import { DEPTH, startGallery, type Gallery } from './nft.fixture.ts'

const URI = 'data:application/json,{}'

let node: TestNode
let shared: { erc1155: Address; enumerable: Address }

describe('NFTs by owner', () => {
  const ending = endOfSuite()
  before(async () => {
    node = await startTestNode(ending)
    shared = {
      erc1155: getAddress(await node.deploy('MultiToken')),
      enumerable: getAddress(await node.deploy('EnumerableNft')),
    }
  })

  eachEngine((engine) => {
    const end = endOfSuite()
    let gallery: Gallery
    const ownerAt = (at: number): Address => node.accounts[at]!.address
    const deploy = async (contract: 'Nft' | 'MultiToken'): Promise<Address> =>
      getAddress(await node.deploy(contract, contract === 'Nft' ? ['Art', 'ART'] : []))
    const rows = (contract: Address) =>
      gallery.app.app.db.get<{ next_block: number; transfers: number; version: number }>(sql`
        select next_block, version, (select count(*) from onchain_nft_transfers where index_id = id) as transfers
        from onchain_nft_indexes where contract = ${contract}`)
    before(async () => {
      gallery = await startGallery(end, engine, { node, replicas: true })
    })

    test('a contract that lists them is asked, page by page', async () => {
      const contract = shared.enumerable
      const [owner, receiver] = [ownerAt(0), ownerAt(1)]
      const before = Object.keys(await gallery.held(contract, owner))
      for (let i = 0; i < 3; i++) await node.send(contract, 'EnumerableNft', 'safeMint', [owner, URI])
      const held = Object.keys(await gallery.held(contract, owner))
      const last = held.filter((id) => !before.includes(id)).at(-1)!
      await node.send(contract, 'EnumerableNft', 'transferFrom', [owner, receiver, BigInt(last)], { from: 0 })
      const path = `GET /onchain/nft/${contract}/owner/${owner}`
      const { body } = await gallery.call(`${path}?limit=1&offset=1&chain=ethereum`)
      assert.deepEqual(body, {
        nfts: [{ contractAddress: contract, tokenId: held[1], standard: 'erc721', owner }],
        total: held.length - 1,
        limit: 1,
        offset: 1,
      })
      assert.deepEqual((await gallery.call(`${path}?offset=100`)).body.nfts, [])
      assert.equal(await rows(contract), undefined, 'nothing is indexed')
    })

    test('of another one the transfers are indexed, and the newest count at once', async () => {
      const contract = await deploy('Nft')
      const [owner, receiver] = [ownerAt(2), ownerAt(3)]
      const mint = () => node.send(contract, 'Nft', 'safeMint', [owner, URI])
      assert.deepEqual(await gallery.held(contract, owner), {})
      for (let i = 0; i < 12; i++) await mint()
      // Ids are sorted as numbers.
      assert.deepEqual(Object.keys(await gallery.held(contract, owner)), ids(1, 12))
      await node.mine(3 * DEPTH)
      assert.deepEqual(Object.keys(await gallery.held(contract, owner)), ids(1, 12))
      assert.equal((await rows(contract))!.transfers, 12)
      await node.send(contract, 'Nft', 'transferFrom', [owner, receiver, 2n], { from: 2 })
      await mint()
      await node.send(contract, 'Nft', 'transferFrom', [owner, receiver, 13n], { from: 2 })
      await node.send(contract, 'Nft', 'transferFrom', [receiver, owner, 2n], { from: 3 })
      await node.send(contract, 'Nft', 'transferFrom', [owner, receiver, 5n], { from: 2 })
      assert.deepEqual(
        Object.keys(await gallery.held(contract, owner)),
        ids(1, 12).filter((id) => id !== '5'),
      )
      assert.deepEqual(Object.keys(await gallery.held(contract, receiver)), ['5', '13'])
      assert.ok((await rows(contract))!.transfers < 17, 'the newest are not stored yet')
      const path = `GET /onchain/nft/${contract}/owner/${owner}`
      const pages = []
      for (let offset = 0; offset < 12; offset += 2) {
        const { body } = await gallery.call(`${path}?limit=2&offset=${offset}`)
        assert.equal(body.total, 11)
        pages.push(...body.nfts.map(({ tokenId }: { tokenId: string }) => tokenId))
      }
      assert.deepEqual(
        pages,
        ids(1, 12).filter((id) => id !== '5'),
      )
    })

    test('ERC-1155 tokens come with balances; batches count', async () => {
      const contract = shared.erc1155
      const [owner, receiver] = [ownerAt(4), ownerAt(5)]
      const start = (await node.read(contract, 'MultiToken', 'nextId')) as bigint
      const huge = 2n ** 255n
      await node.send(contract, 'MultiToken', 'mint', [owner, start, 10n, '0x'])
      await node.send(contract, 'MultiToken', 'mint', [owner, start + 1n, huge, '0x'])
      await node.mine(2 * DEPTH + 1)
      await node.send(
        contract,
        'MultiToken',
        'safeBatchTransferFrom',
        [owner, receiver, [start, start + 1n, start], [3n, huge - 1n, 7n], '0x'],
        { from: 4 },
      )
      for (let i = 0; i < 2; i++) {
        const held = await gallery.held(contract, owner)
        assert.equal(held[String(start)], undefined)
        assert.equal(held[String(start + 1n)], '1')
        const received = await gallery.held(contract, receiver)
        assert.equal(received[String(start)], '10')
        assert.equal(received[String(start + 1n)], String(huge - 1n))
        await node.mine(2 * DEPTH + 1)
      }
    })

    test('a reorganisation is followed: of the newest blocks, and a deeper one', async () => {
      const contract = await deploy('Nft')
      const owner = ownerAt(6)
      await node.send(contract, 'Nft', 'safeMint', [owner, URI])
      await node.mine(8 * DEPTH)
      assert.deepEqual(Object.keys(await gallery.held(contract, owner)), ['1'])
      await node.send(contract, 'Nft', 'safeMint', [owner, URI])
      assert.deepEqual(Object.keys(await gallery.held(contract, owner)), ['1', '2'])
      await node.reorg(1)
      assert.deepEqual(Object.keys(await gallery.held(contract, owner)), ['1'])
      await node.send(contract, 'Nft', 'safeMint', [owner, URI])
      await node.send(contract, 'Nft', 'transferFrom', [owner, ownerAt(7), 1n], { from: 6 })
      await node.mine(3 * DEPTH)
      assert.deepEqual(Object.keys(await gallery.held(contract, owner)), ['2'])
      assert.equal((await rows(contract))!.transfers, 3)
      await node.reorg(3 * DEPTH + 2)
      assert.deepEqual(Object.keys(await gallery.held(contract, owner)), ['1'])
      assert.deepEqual(await gallery.held(contract, ownerAt(7)), {})
      assert.equal((await rows(contract))!.transfers, 1)
      assert.match(gallery.app.log(), /the transfers of a contract are indexed again/)
    })

    test('two replicas that index at once count each transfer once', async () => {
      const contract = await deploy('MultiToken')
      const owner = ownerAt(8)
      for (let i = 0; i < 6; i++) await node.send(contract, 'MultiToken', 'mint', [owner, 1n, 5n, '0x'])
      for (let round = 1; round <= 3; round++) {
        await node.mine(2 * DEPTH + 1)
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_one, at) =>
            gallery.held(contract, owner, at % 2 === 0 ? gallery.app : gallery.other),
          ),
        )
        for (const answer of answers) assert.deepEqual(answer, { 1: '30' })
      }
      assert.equal((await rows(contract))!.transfers, 6)
    })

    test('ranges become smaller where a node refuses them, and larger again', async () => {
      const contract = await deploy('Nft')
      const owner = ownerAt(9)
      for (let i = 0; i < 3; i++) {
        await node.send(contract, 'Nft', 'safeMint', [owner, URI])
        await node.mine(9)
      }
      const sizeOf = ({ params }: { params?: unknown[] }) => {
        const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }]
        return Number(toBlock) - Number(fromBlock) + 1
      }
      const heal = gallery.proxy.fault({
        method: 'eth_getLogs',
        when: (call) => sizeOf(call) > 4,
        error: { code: -32_005, message: 'query returned more than 10000 results' },
      })
      gallery.proxy.forget()
      assert.deepEqual(Object.keys(await gallery.held(contract, owner)), ['1', '2', '3'])
      heal()
      const sizes = gallery.proxy.log.filter(({ method }) => method === 'eth_getLogs').map(sizeOf)
      assert.ok(Math.max(...sizes.slice(8)) <= 10, String(sizes))
      await node.mine(60)
      gallery.proxy.forget()
      assert.deepEqual(Object.keys(await gallery.held(contract, owner)), ['1', '2', '3'])
      const larger = gallery.proxy.log.filter(({ method }) => method === 'eth_getLogs').map(sizeOf)
      assert.ok(Math.max(...larger) > 4, String(larger))
    })

    test('a node without history, and one that is down', async () => {
      const contract = await deploy('Nft')
      await node.send(contract, 'Nft', 'safeMint', [ownerAt(0), URI])
      await node.mine(2 * DEPTH)
      const path = `GET /onchain/nft/${contract}/owner/${ownerAt(0)}`
      const heal = gallery.proxy.fault({
        method: 'eth_getCode',
        when: ({ params }) => params?.[1] !== 'latest',
        error: { code: -32_000, message: 'missing trie node' },
      })
      const down = gallery.proxy.fault({ method: 'eth_getLogs', status: 500 })
      const { status, body } = await gallery.call(path)
      assert.deepEqual([status, body.error.code], [502, 'PROVIDER_ERROR'])
      down()
      assert.deepEqual(Object.keys(await gallery.held(contract, ownerAt(0))), ['1'])
      heal()
    })

    test('what is not indexed in time is 503, and goes on in the background', async () => {
      const contract = await deploy('Nft')
      await node.send(contract, 'Nft', 'safeMint', [ownerAt(0), URI])
      await node.mine(60)
      const heal = gallery.proxy.fault({
        method: 'eth_getLogs',
        answer: (answer) => {
          gallery.app.clock.advance(3_000)
          return answer
        },
        error: { code: -32_005, message: 'query exceeds max results' },
        times: 4,
      })
      const path = `GET /onchain/nft/${contract}/owner/${ownerAt(0)}`
      const { status, body, headers } = await gallery.call(path)
      assert.deepEqual([status, body.error.code, headers.get('retry-after')], [503, 'UNAVAILABLE', '5'])
      assert.ok(body.error.details.indexedBlock < body.error.details.head)
      heal()
      const waiting = sql`select id from sixwire_jobs where kind = 'onchain.nft-index'`
      for (let tries = 0; tries < 500 && (await gallery.app.app.db.get(waiting)); tries++) {
        gallery.app.clock.advance(1_000)
        await delay(2)
      }
      assert.equal((await rows(contract))!.transfers, 1)
    })
  })
})

const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_one, at) => String(from + at))
