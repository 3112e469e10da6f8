import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { getAddress } from 'viem'

import type { Address } from '../../../base/hex.ts'
import { someEngine, endOfSuite } from '../../../testing/engines.ts'
import { startTestNode, type TestNode } from '../../../testing/node.ts'
import { startGallery, type Gallery } from './nft.fixture.ts'

const ART = { name: 'Art', attributes: [{ trait_type: 'Level', value: 5 }] }
const URI = `data:application/json,${encodeURIComponent(JSON.stringify(ART))}`
const MAX = String(2n ** 256n - 1n)

let node: TestNode

describe('NFTs', () => {
  const ending = endOfSuite()
  before(async () => {
    node = await startTestNode(ending)
  })

  someEngine((engine) => {
    const end = endOfSuite()
    let gallery: Gallery
    let erc721: Address
    let erc1155: Address
    const friend = (): Address => node.accounts[1]!.address
    const stranger = (): Address => node.accounts[2]!.address
    const get = (contract: string, tokenId: string | number, query = '') =>
      gallery.call(`GET /onchain/nft/${contract}/${tokenId}${query}`)
    const wallet = async (value = 10n ** 18n): Promise<{ walletId: string; address: Address }> => {
      const { body } = await gallery.call('POST /onchain/wallets', {})
      if (value > 0n) await node.client.setBalance({ address: body.address, value })
      return { walletId: body._id, address: body.address }
    }
    const refused = async (
      route: string,
      body: unknown,
      status: number,
      code: string,
      text: RegExp | string,
    ) => {
      const answered = await gallery.call(route, body)
      assert.deepEqual([answered.status, answered.body.error?.code], [status, code], answered.text)
      assert.match(answered.body.error.message, new RegExp(text), answered.text)
    }
    before(async () => {
      gallery = await startGallery(end, engine, {
        node,
        config: { onchain: { chains: { ethereum: { pollMs: 50 } } } },
      })
      erc721 = getAddress(await node.deploy('Nft', ['Art', 'ART']))
      erc1155 = getAddress(await node.deploy('MultiToken'))
    })

    test('one is minted, found, transferred, and found at its new owner', async () => {
      const { walletId, address } = await wallet()
      const minted = await gallery.call('POST /onchain/nft/mint', {
        contractAddress: erc721,
        to: address,
        tokenURI: URI,
        walletId,
        chain: 'ethereum',
      })
      assert.equal(minted.status, 200, minted.text)
      const { tokenId, hash } = minted.body
      assert.deepEqual([minted.body.status, minted.body.chain, tokenId], ['pending', 'ethereum', '1'])
      assert.equal((await gallery.call(`GET /onchain/transactions/${hash}`)).body.tokenId, tokenId)
      gallery.proxy.forget()
      assert.deepEqual((await get(erc721, tokenId, '?chain=ethereum')).body, {
        contractAddress: erc721,
        tokenId,
        standard: 'erc721',
        owner: address,
        tokenURI: URI,
        metadata: ART,
        chain: 'ethereum',
      })
      // Other requests follow the transaction that was just sent.
      assert.ok([1, 2].includes(gallery.proxy.requests('eth_call')))
      assert.deepEqual(await gallery.held(erc721, address), { 1: '1' })
      const body = { contractAddress: erc721, to: friend(), tokenId, walletId }
      const sent = await gallery.call('POST /onchain/nft/transfer', body)
      assert.deepEqual([sent.status, sent.body.status], [200, 'pending'], sent.text)
      await node.client.waitForTransactionReceipt({ hash: sent.body.hash })
      assert.equal((await get(erc721.toLowerCase(), tokenId)).body.owner, friend())
      assert.deepEqual(await gallery.held(erc721, address), {})
      assert.deepEqual(await gallery.held(erc721, friend()), { 1: '1' })
      await refused('POST /onchain/nft/transfer', body, 422, 'CONTRACT_REVERTED', 'ERC721IncorrectOwner')
    })

    test('ERC-1155 tokens have no owner, an {id} in their URI, and amounts', async () => {
      const { walletId, address } = await wallet()
      const minted = await gallery.call('POST /onchain/nft/mint', {
        contractAddress: erc1155,
        to: address,
        tokenURI: 'data:application/json,{"id":"{id}"}',
        walletId,
      })
      assert.equal(minted.body.tokenId, '1', minted.text)
      const padded = '1'.padStart(64, '0')
      assert.deepEqual((await get(erc1155, 1)).body, {
        contractAddress: erc1155,
        tokenId: '1',
        standard: 'erc1155',
        owner: null,
        tokenURI: `data:application/json,{"id":"${padded}"}`,
        metadata: { id: padded },
        chain: 'ethereum',
      })
      await node.send(erc1155, 'MultiToken', 'mint', [address, 255n, 9n, '0x'])
      assert.deepEqual((await get(erc1155, 255)).body.tokenURI, '')
      const transfer = { contractAddress: erc1155, to: stranger(), tokenId: '255', walletId }
      await refused(
        'POST /onchain/nft/transfer',
        { ...transfer, amount: '10' },
        422,
        'CONTRACT_REVERTED',
        'ERC1155InsufficientBalance',
      )
      for (const amount of ['7', undefined]) {
        const { status, body, text } = await gallery.call('POST /onchain/nft/transfer', {
          ...transfer,
          amount,
        })
        assert.equal(status, 200, text)
        await node.client.waitForTransactionReceipt({ hash: body.hash })
      }
      assert.deepEqual(await gallery.held(erc1155, address), { 1: '1', 255: '1' })
      assert.deepEqual(await gallery.held(erc1155, stranger()), { 255: '8' })
    })

    test('what is no NFT, and what does not exist', async () => {
      const token = await node.deploy('SilentToken')
      assert.equal((await get(erc721, 77)).status, 404)
      assert.equal((await get(erc721, MAX)).status, 404)
      assert.equal((await get(erc1155, 77)).status, 404, 'by its transfers')
      for (const [contract, text] of [
        [token, 'no NFT contract'],
        [friend(), 'address of no contract'],
        ['0xd1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb', 'checksum'],
        ['0x12', 'contractAddress'],
      ] as const) {
        await refused(`GET /onchain/nft/${contract}/1`, undefined, 400, 'VALIDATION_ERROR', text)
        await refused(
          `GET /onchain/nft/${contract}/owner/${friend()}`,
          undefined,
          400,
          'VALIDATION_ERROR',
          text,
        )
      }
      for (const id of [String(2n ** 256n), '-1', '01', '0x1', '1e3', 'owner'])
        assert.equal((await get(erc721, id)).status, 404, id)
      await refused(
        `GET /onchain/nft/${erc721}/1?chain=dogecoin`,
        undefined,
        400,
        'VALIDATION_ERROR',
        'ethereum',
      )
      await refused(
        `GET /onchain/nft/${erc721}/1?chain=base`,
        undefined,
        400,
        'PROVIDER_NOT_CONFIGURED',
        'BASE_RPC_URL',
      )
      await refused(
        `GET /onchain/nft/${erc721}/owner/0x12`,
        undefined,
        400,
        'VALIDATION_ERROR',
        'ownerAddress',
      )
      const heal = gallery.proxy.fault({ status: 500 })
      await refused(`GET /onchain/nft/${erc721}/1`, undefined, 502, 'PROVIDER_ERROR', 'ethereum')
      heal()
    })

    test('what a contract answers is bounded', async () => {
      const minted = (await node.read(erc721, 'Nft', 'nextId')) as bigint
      await node.send(erc721, 'Nft', 'safeMint', [friend(), `https://127.0.0.1:1/${'x'.repeat(10)}`])
      const { status, body } = await get(erc721, String(minted))
      assert.deepEqual([status, body.metadata], [200, null])
      const word = (n: number) => n.toString(16).padStart(64, '0')
      const text = (length: number) => `0x${word(32)}${word(length)}${'61'.repeat(length)}`
      const isUri = ({ params }: { params?: unknown[] }) =>
        (params as [{ data: string }])[0].data.startsWith('0xc87b56dd')
      for (const [answer, uri] of [
        [text(65_536), 'a'.repeat(65_536)],
        [text(65_568), null],
        [text(2_000_000), null],
        [`0x${word(2 ** 40)}`, null],
        ['0x', null],
      ] as const) {
        const heal = gallery.proxy.fault({ method: 'eth_call', when: isUri, lie: () => answer })
        const token = (await get(erc721, String(minted))).body
        heal()
        assert.deepEqual([token.tokenURI, token.metadata, token.owner], [uri, null, friend()])
      }
    })

    test('what cannot be minted or sent is refused before anything is signed', async () => {
      const { walletId, address } = await wallet()
      const poor = await wallet(0n)
      const token = await node.deploy('SilentToken')
      const mint = { contractAddress: erc721, to: address, tokenURI: URI, walletId }
      const transfer = { contractAddress: erc721, to: friend(), tokenId: '1', walletId }
      const bad = (route: string, body: object, text: string) =>
        refused(`POST /onchain/nft/${route}`, body, 400, 'VALIDATION_ERROR', text)
      for (const tokenURI of [
        '',
        'x',
        '//a.example/1',
        'a.example/1',
        'https:',
        'ar://with a space',
        `data:,${'x'.repeat(65_536)}`,
      ])
        await bad('mint', { ...mint, tokenURI }, 'tokenURI')
      await bad('mint', { ...mint, to: '0xd1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb' }, 'checksum')
      await bad('mint', { ...mint, contractAddress: token }, 'no NFT contract')
      await bad('mint', { ...mint, chain: 'dogecoin' }, 'ethereum')
      for (const tokenId of ['-1', '1.5', String(2n ** 256n), 1])
        await bad('transfer', { ...transfer, tokenId }, 'tokenId')
      for (const amount of ['0', '-1', '1.5', String(2n ** 256n)])
        await bad('transfer', { ...transfer, amount }, 'amount')
      await bad('transfer', { ...transfer, amount: '2' }, 'must be 1')
      await refused('POST /onchain/nft/mint', { ...mint, walletId: 'nobody' }, 404, 'NOT_FOUND', 'wallet')
      await refused(
        'POST /onchain/nft/mint',
        { ...mint, walletId: poor.walletId },
        422,
        'INSUFFICIENT_FUNDS',
        '',
      )
      await refused(
        'POST /onchain/nft/mint',
        { ...mint, to: `0x${'0'.repeat(40)}` },
        422,
        'CONTRACT_REVERTED',
        'ERC721InvalidReceiver',
      )
      await refused(
        'POST /onchain/nft/mint',
        { ...mint, to: erc1155 },
        422,
        'CONTRACT_REVERTED',
        'ERC721InvalidReceiver',
      )
      await refused(
        'POST /onchain/nft/transfer',
        { ...transfer, tokenId: '999' },
        422,
        'CONTRACT_REVERTED',
        'ERC721NonexistentToken',
      )
      const { body } = await gallery.call(`GET /onchain/transactions?walletId=${walletId}`)
      assert.equal(body.total, 0)
    })
  })
})
