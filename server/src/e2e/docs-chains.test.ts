// Every example of docs/ that uses a chain runs.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { loadConfig } from '../app.ts'
import { startApp } from '../testing/app.ts'
import { someEngine } from '../testing/engines.ts'
import { applicationFolder, blocksOf, shell } from '../testing/examples.ts'
import { startTestNode } from '../testing/node.ts'
import { until } from '../testing/until.ts'

someEngine((engine) => {
  test('the payment request of docs/pay.md is paid and confirmed', async (t) => {
    const app = await startApp(t, engine, { sandbox: true })
    const { token: TOKEN } = await app.register()
    const examples = await blocksOf('docs/pay.md', 'sh')
    const [create, pay, read] = examples.filter((one) => /onchain|chains/.test(one))
    const { _id: REQUEST, amount, status } = JSON.parse(await shell(create!, app, { TOKEN }))
    assert.deepEqual([amount, status], ['12500000', 'pending'])
    await shell(pay!, app, { REQUEST })
    // Empty blocks follow the payment until it is deep enough.
    const path = `/pay/onchain/payment/${REQUEST}`
    await until(async () => (await app.request('GET', path, { token: TOKEN })).body.status === 'confirmed')
    assert.equal(JSON.parse(await shell(read!, app, { TOKEN, REQUEST })).status, 'confirmed')
    const { body } = await app.request('GET', `/pay/transactions/${REQUEST}`, { token: TOKEN })
    assert.deepEqual([body.status, body.displayAmount], ['completed', '12.5'])
  })

  test('the token and the contract of docs/onchain.md are read and called', async (t) => {
    const app = await startApp(t, engine, { sandbox: true })
    const { token: TOKEN } = await app.register()
    const blocks = await blocksOf('docs/onchain.md', 'sh')
    const run = async (part: string, environment: object): Promise<Record<string, string>> =>
      JSON.parse(
        await shell(
          blocks.find((block) => block.includes(part))!,
          app,
          { TOKEN, ...environment },
        ),
      )
    const { ethereum } = (await app.request('GET', '/sandbox/api/chains')).body
    const USDC: string = ethereum.contracts.erc20
    const wallet = await run('"Till"', {})
    const [WALLET, ADDRESS] = [wallet['_id']!, wallet['address']!]
    await run('/chains/ethereum/pay', { ADDRESS })
    const body = { to: ADDRESS, amount: '12.5', token: 'USDC' }
    const paid = await app.request('POST', '/sandbox/api/chains/ethereum/pay', { body })
    assert.equal(paid.status, 200, paid.text)

    const environment = { USDC, WALLET, ADDRESS }
    const balance = await run('?token=$USDC', environment)
    assert.deepEqual([balance['balance'], balance['symbol']], ['12.5', 'USDC'])
    const read = await run('/contracts/read', environment)
    assert.deepEqual(read, { result: '12500000', method: 'balanceOf' })
    const written = await run('/contracts/write', environment)
    assert.deepEqual([written['status'], written['to']], ['pending', USDC], JSON.stringify(written))
    // The transaction is sent after the answer.
    await until(async () => (await run('/contracts/read', environment))['result'] === '10000000')
  })

  test('the wallet of docs/onchain.md is created, and its configuration for AWS KMS starts a server', async (t) => {
    const config = (await blocksOf('docs/onchain.md', 'ts')).find((block) => block.includes('awsKms'))!
    const folder = await applicationFolder(t, { 'sixwire.config.ts': config })
    const app = await startApp(t, engine)
    const { token: TOKEN } = await app.register()
    const create = (await blocksOf('docs/onchain.md', 'sh')).find((block) => block.includes('Treasury'))!
    const wallet = JSON.parse(await shell(create, app, { TOKEN }))
    assert.equal(wallet.name, 'Treasury')
    const withKms = await startApp(t, engine, { config: await loadConfig(folder) })
    assert.deepEqual([...withKms.app.checks().get('onchain')!.keys()], ['keys by aws-kms'])
  })

  test('the wallet of docs/onchain.md is funded, and sends', async (t) => {
    const app = await startApp(t, engine, { sandbox: true })
    const { token: TOKEN } = await app.register()
    const [create, fund, balance, send, read] = await blocksOf('docs/onchain.md', 'sh')
    const { _id: WALLET, address: ADDRESS } = JSON.parse(await shell(create!, app, { TOKEN }))
    await shell(fund!, app, { ADDRESS })
    assert.deepEqual(JSON.parse(await shell(balance!, app, { TOKEN, ADDRESS })), {
      address: ADDRESS,
      balance: '10',
      symbol: 'ETH',
      chain: 'ethereum',
    })
    const { hash: HASH, status, value } = JSON.parse(await shell(send!, app, { TOKEN, WALLET }))
    assert.deepEqual([status, value], ['pending', '2.5'])
    await until(async () => {
      // The sandbox mines a block a second.
      app.clock.advance(1_000)
      const { body } = await app.request('GET', `/onchain/transactions/${HASH}`, { token: TOKEN })
      return body.status !== 'pending'
    })
    assert.equal(JSON.parse(await shell(read!, app, { TOKEN, HASH })).status, 'confirmed')
  })

  test('the wire of docs/extending.md sends from a wallet', async (t) => {
    const wire = (await blocksOf('docs/extending.md', 'ts')).find((block) => block.includes("'payouts'"))!
    const folder = await applicationFolder(t, {
      'payouts.ts': wire,
      'sixwire.config.ts': `
        import { defineConfig } from 'sixwire'
        import { payouts } from './payouts.ts'
        export default defineConfig({ wires: [payouts()] })`,
    })
    const node = await startTestNode(t)
    const app = await startApp(t, engine, {
      config: await loadConfig(folder),
      environment: { ETHEREUM_RPC_URL: node.url },
    })
    const { token } = await app.register()
    const wallet = (await app.request('POST', '/onchain/wallets', { token, body: {} })).body
    await node.fund(wallet.address, 10n ** 18n)
    const body = { walletId: wallet._id, to: node.accounts[0]!.address }
    const [once, again] = [
      await app.request('POST', '/payouts/7', { token, body }),
      await app.request('POST', '/payouts/7', { token, body }),
    ]
    assert.match(once.body.hash, /^0x[\da-f]{64}$/, once.text)
    assert.deepEqual(again.body, once.body)
  })
})
