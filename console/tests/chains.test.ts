// The screens of chains, wallets and transactions, in Chromium over a real node.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole, type ConsolePage } from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'
import { SEND } from '../../server/src/wires/onchain/transactions/nonce-queue.fixture.ts'
import { startSending, type Sending } from '../../server/src/wires/onchain/transactions/sending.fixture.ts'

const TO = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

someEngine((engine) => {
  const ending = endOfSuite()
  let chain: Sending
  let desk: ConsolePage
  let wallet: { _id: string; address: `0x${string}` }
  before(async () => {
    if (withoutChromium) return
    chain = await startSending(ending, engine, { environment: { BASE_RPC_URL: 'http://127.0.0.1:1' } })
    wallet = await chain.wallet()
    desk = await openConsole(ending, chain.app, { at: '#/chains' })
  })

  test(
    'chains say whether they answer, and a contract is read by its ABI',
    { skip: withoutChromium },
    async () => {
      const { page } = desk
      await page.getByText('no answer').waitFor()
      await page.getByText('no node').waitFor()
      const reader = page.getByRole('form', { name: 'Read a contract' })
      await reader.getByLabel('Interface').selectOption('own')
      await reader.getByLabel('ABI').fill('{"abi": 1}')
      await page.getByText('An ABI is a list in JSON').waitFor()
      const inputs = [
        { name: 'who', type: 'address' },
        { name: 'on', type: 'bool' },
        { name: 'list', type: 'uint256[]' },
      ]
      await reader
        .getByLabel('ABI')
        .fill(
          JSON.stringify([
            { type: 'function', name: 'look', stateMutability: 'view', inputs, outputs: [{ type: 'bool' }] },
          ]),
        )
      assert.equal(await reader.getByLabel('Function').inputValue(), 'look(address,bool,uint256[])')
      await reader.getByLabel('Address of the contract').fill(TO)
      await reader.getByLabel('who, address').fill('0x12')
      await reader.getByLabel('list, uint256[]').fill('["1", "2"]')
      await reader.getByRole('button', { name: 'Read' }).click()
      await page.getByText('It must be an address: 0x and 40 hexadecimal digits.').waitFor()
      await reader.getByLabel('who, address').fill(TO)
      await reader.getByRole('button', { name: 'Read' }).click()
      await page.getByText('is not the address of a contract on ethereum').first().waitFor()
      await checkLooks(page, 'chains')

      const token = await chain.node.deploy('Token', ['Dollar', 'USDC', 6])
      await reader.getByLabel('Interface').selectOption('erc20')
      await reader.getByLabel('Address of the contract').fill(token)
      await reader.getByLabel('Function').selectOption('name()')
      await reader.getByRole('button', { name: 'Read' }).click()
      await page.locator('output').getByText('Dollar').waitFor()
    },
  )

  test('the tokens of an owner are listed', { skip: withoutChromium }, async () => {
    const { page } = desk
    const contract = await chain.node.deploy('EnumerableNft')
    const owner = chain.node.accounts[0]!.address
    const metadata = 'data:application/json,{"name":"First%20light"}'
    await chain.node.send(contract, 'EnumerableNft', 'safeMint', [owner, metadata])
    await page.getByRole('tab', { name: 'NFTs of an owner' }).click()
    const search = page.getByRole('form', { name: 'NFTs of an owner' })
    await search.getByLabel('Address of the contract').fill(contract)
    await search.getByLabel('Address of the owner').fill(owner)
    await search.getByRole('button', { name: 'Show' }).click()
    await page.getByText('First light').waitFor()
  })

  test(
    'a wallet shows what is on each chain, and which does not say',
    { skip: withoutChromium },
    async () => {
      const { page } = desk
      await desk.go(`#/wallets/${wallet._id}`)
      const balances = page.getByRole('table', { name: 'Balances by chain' })
      await balances.getByText('10 ETH').waitFor()
      await balances.getByText('no answer').waitFor()
      await checkLooks(page, 'a wallet')
      await page.getByRole('button', { name: 'Import a key' }).click()
      await page.getByLabel('Private key').fill(`0x${'3c'.repeat(32)}`)
      await page.getByRole('button', { name: 'Import', exact: true }).click()
      await page.getByText('The key is stored, encrypted.').first().waitFor()
      assert.doesNotMatch(await page.content(), /3c3c3c/)
    },
  )

  test('a stuck transaction is sped up and cancelled from the page', { skip: withoutChromium }, async () => {
    const { page } = desk
    const heal = chain.proxy.fault({ method: SEND, drop: 'before' })
    const { hash } = await chain.sent(wallet, TO, '0.1')
    chain.app.clock.advance(61_000)
    await desk.go('#/transactions?status=stuck')
    await page
      .getByRole('link', { name: hash.slice(0, 10) })
      .or(page.locator('tbody a.open'))
      .first()
      .click()
    const pane = page.getByRole('region', { name: 'Details' })
    await pane.getByText('It is in no block yet.').waitFor()
    await checkLooks(page, 'a stuck transaction')
    const before = page.url()
    await pane.getByRole('button', { name: 'Speed up' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Speed up' }).click()
    await page.getByText('Sent with a higher fee.').first().waitFor()
    await page.waitForURL((url) => url.href !== before)
    const sped = page.url()
    await pane.getByRole('button', { name: 'Cancel the transaction' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel it' }).click()
    await page.waitForURL((url) => url.href !== sped)
    heal()
  })
})
