// What a newcomer does: creates a wallet, funds it in a browser, sends, mints an NFT, and is paid on a chain.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import type { Browser, Page } from 'playwright-core'

import { startApp, type TestApp } from '../testing/app.ts'
import { launchChromium, withoutChromium } from '../testing/chromium.ts'
import { anyEngine, type Ending } from '../testing/engines.ts'

const ROUND_MS = 20
/** So many that a payment is not final before the page shows it. */
const CONFIRMATIONS = '10'
const METADATA = { name: 'Momo', description: 'The first of its kind' }

/** An application with a user, and the server whose sandbox has its chains. */
type Place = { shop: TestApp; token: string; sandbox: TestApp }

describe('chains in a browser', { skip: withoutChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })

  async function openPage(t: Ending): Promise<{ page: Page; complaints: string[] }> {
    const context = await browser.newContext()
    t.after(() => context.close())
    context.setDefaultTimeout(20_000)
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('pageerror', (error) => complaints.push(error.message))
    return { page, complaints }
  }

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

  async function fund(page: Page, to: string, amount: string, coin: string): Promise<void> {
    await page.getByLabel('Address', { exact: true }).fill(to)
    await page.getByLabel('Amount', { exact: true }).fill(amount)
    await page.getByLabel('Coin').selectOption(coin)
    await button(page, 'Fund').click()
    await page.getByText(`${amount} ${coin} sent`).waitFor()
  }

  /** Mines blocks on the page until a transaction is final. */
  async function confirm(page: Page, { shop, token }: Place, hash: string) {
    await page.getByLabel('Blocks', { exact: true }).fill(CONFIRMATIONS)
    await button(page, 'Mine').click()
    for (;;) {
      const sent = await shop.client.call('GET /onchain/transactions/:hash', { token, params: { hash } })
      if (sent.status !== 'pending') return sent
      await delay(ROUND_MS)
      shop.clock.advance(500)
    }
  }

  /** Creates a wallet, funds it on the page, sends from it, and mints an NFT for it. */
  async function sendAndMint(page: Page, place: Place): Promise<void> {
    const { shop, token, sandbox } = place
    const wallet = await shop.client.call('POST /onchain/wallets', { token, body: { name: 'Till' } })
    await page.goto(`${sandbox.url}/sandbox#chains`)
    await page.getByRole('link', { name: /^ethereum/ }).click()
    await fund(page, wallet.address, '10', 'ETH')
    const balance = async (address: string) =>
      (await shop.client.call('GET /onchain/balance/:address', { token, params: { address } })).balance
    assert.equal(await balance(wallet.address), '10')

    const { ethereum } = (await sandbox.request('GET', '/sandbox/api/chains')).body
    const to: string = ethereum.accounts[9].address
    const { hash, status } = await shop.client.call('POST /onchain/transactions', {
      token,
      body: { walletId: wallet._id, to, value: '2.5' },
    })
    assert.equal(status, 'pending')
    const sent = await confirm(page, place, hash)
    assert.deepEqual([sent.status, sent.to, sent.value, sent.nonce], ['confirmed', to, '2.5', 0])
    assert.equal(await balance(to), '10002.5')

    const contractAddress: string = ethereum.contracts.erc721
    const tokenURI = `data:application/json,${encodeURIComponent(JSON.stringify(METADATA))}`
    const mint = await shop.client.call('POST /onchain/nft/mint', {
      token,
      body: { contractAddress, to: wallet.address, tokenURI, walletId: wallet._id },
    })
    const { tokenId } = await confirm(page, place, mint.hash)
    const owned = await shop.client.call('GET /onchain/nft/:contractAddress/owner/:ownerAddress', {
      token,
      params: { contractAddress, ownerAddress: wallet.address },
    })
    assert.deepEqual([owned.total, ...owned.nfts.map((one) => one.tokenId)], [1, tokenId])
    const nft = await shop.client.call('GET /onchain/nft/:contractAddress/:tokenId', {
      token,
      params: { contractAddress, tokenId: tokenId! },
    })
    assert.deepEqual([nft.standard, nft.owner, nft.metadata], ['erc721', wallet.address, METADATA])
  }

  const createRequest = ({ shop, token }: Place) =>
    shop.client.call('POST /pay/onchain/payment', {
      token,
      body: { amount: '12.50', token: 'USDC', chain: 'ethereum' },
    })

  async function assertPaid({ shop, token }: Place, id: string): Promise<void> {
    // A job writes to the ledger what the chain shows.
    for (;;) {
      const { transactions } = await shop.client.call('GET /pay/transactions', {
        token,
        query: { provider: 'onchain', status: 'completed' },
      })
      const paid = transactions.map(({ reference, amount, currency }) => [reference, amount, currency])
      if (paid.length > 0) return assert.deepEqual(paid, [[id, 12.5, 'USDC']])
      await delay(ROUND_MS)
      shop.clock.advance(500)
    }
  }

  anyEngine((engine) => {
    test('with nothing configured, a newcomer sends, mints an NFT and is paid', async (t) => {
      const shop = await startApp(t, engine, {
        sandbox: true,
        environment: { ETHEREUM_CONFIRMATIONS: CONFIRMATIONS },
      })
      const { token } = await shop.register()
      const place = { shop, token, sandbox: shop }
      const { page, complaints } = await openPage(t)
      await sendAndMint(page, place)

      const request = await createRequest(place)
      const row = page.getByRole('link', { name: `${request.displayAmount} USDC` })
      await row.filter({ hasText: 'pending' }).click()
      await button(page, 'Pay this request').click()
      await row.filter({ hasText: 'detected' }).waitFor()
      while ((await row.filter({ hasText: 'confirmed' }).count()) === 0) {
        await button(page, 'Mine a block').click()
        await delay(ROUND_MS)
        shop.clock.advance(500)
      }
      await page.getByText('All of it has arrived.').waitFor()
      const paid = (await shop.request('GET', `/pay/onchain/payment/${request._id}`, { token })).body
      const facts = await page.locator('#chains-reader .facts').innerText()
      assert.match(facts, new RegExp(`Received\\s+${Number(request.displayAmount)} USDC`))
      assert.match(facts, /Confirmations\s+[1-9]/)
      assert.ok(facts.includes(paid.transactionHashes[0]), facts)
      assert.equal(await button(page, 'Pay this request').count(), 0)
      await assertPaid(place, request._id)
      assert.deepEqual(complaints, [])
    })
  })

  anyEngine((engine) => {
    test('with the nodes of another server, the same happens there', async (t) => {
      const sandbox = await startApp(t, engine, { sandbox: true })
      const { variables } = (await sandbox.request('GET', '/sandbox/api')).body.chains
      const shop = await startApp(t, engine, { environment: variables })
      const { token } = await shop.register()
      const place = { shop, token, sandbox }
      const { page, complaints } = await openPage(t)
      await sendAndMint(page, place)

      const { _id, receiverAddress } = await createRequest(place)
      await fund(page, receiverAddress, '12.5', 'USDC')
      const read = () => shop.client.call('GET /pay/onchain/payment/:id', { token, params: { id: _id } })
      while ((await read()).status !== 'confirmed') {
        await button(page, 'Mine').click()
        await delay(ROUND_MS)
        shop.clock.advance(500)
      }
      await assertPaid(place, _id)
      assert.deepEqual(complaints, [])
    })
  })
})
