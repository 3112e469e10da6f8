import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { startApp, type TestApp } from '../testing/app.ts'
import { endOfSuite, temporaryFolder } from '../testing/engines.ts'

describe('/docs', () => {
  let app: TestApp
  const ending = endOfSuite()
  before(async () => {
    const folder = await temporaryFolder(ending)
    app = await startApp(
      ending,
      { migratedUrl: async () => `sqlite:${folder}/x.db` },
      { config: { name: 'Ben & Jerry’s <shop>' } },
    )
  })

  /** What a page or a style sheet loads, as addresses on this server. */
  const assetsOf = (text: string, base: string): URL[] =>
    [...text.matchAll(/(?:\b(?:src|href)=|url\()["']?([^"')\s>]+)/g)]
      .map(([, address]) => address!)
      .filter((address) => !address.startsWith('data:'))
      .map((address) => new URL(address, base))

  for (const path of ['/docs', '/docs/'])
    test(`the page at ${path} loads from this server alone, and all that it loads is there`, async () => {
      const page = await app.request('GET', path)
      assert.equal(page.status, 200)
      assert.match(page.headers.get('content-type')!, /^text\/html/)
      assert.match(page.text, /<title>Ben &amp; Jerry’s &lt;shop&gt;: API<\/title>/)
      const assets = assetsOf(page.text, app.url + path)
      assert.ok(assets.length >= 5)
      for (const asset of assets) {
        assert.equal(asset.origin, app.url)
        const { status, text, headers } = await app.request('GET', asset.pathname)
        assert.equal(status, 200, asset.pathname)
        assert.equal(headers.get('x-content-type-options'), 'nosniff')
        if (asset.pathname.endsWith('.css'))
          for (const inner of assetsOf(text, asset.href)) assert.equal(inner.origin, app.url, asset.pathname)
      }
      // No script in the page itself: the policy would not run it.
      assert.doesNotMatch(page.text, /<script(?![^>]*\bsrc=)|\son\w+=/i)
    })

  test('the page may run, load and ask nothing but this server', async () => {
    const { headers } = await app.request('GET', '/docs')
    const policy = new Map(
      headers
        .get('content-security-policy')!
        .split('; ')
        .map((line) => [line.split(' ')[0]!, line.split(' ').slice(1).join(' ')]),
    )
    assert.equal(policy.get('default-src'), "'none'")
    assert.equal(policy.get('script-src'), "'self'")
    assert.equal(policy.get('connect-src'), "'self'")
    assert.equal(policy.get('frame-ancestors'), "'none'")
    for (const sources of policy.values()) assert.doesNotMatch(sources, /https?:|\*|unsafe-eval/)
  })

  test('behind a prefix, its calls go there', async (t) => {
    const folder = await temporaryFolder(t)
    const behind = await startApp(
      t,
      { migratedUrl: async () => `sqlite:${folder}/x.db` },
      { environment: { PUBLIC_URL: 'https://shop.example/api/' } },
    )
    assert.deepEqual((await behind.request('GET', '/openapi.json')).body.servers, [
      { url: 'https://shop.example/api' },
    ])
    assert.deepEqual((await behind.request('GET', '/docs/json')).body.servers, [{ url: '/api' }])
  })

  test('what the page shows is /openapi.json, and its calls go where it came from', async () => {
    const [shown, published] = [
      await app.request('GET', '/docs/json'),
      await app.request('GET', '/openapi.json'),
    ]
    assert.deepEqual(shown.body, published.body)
    assert.equal(published.body.servers, undefined, 'by default the server that was asked')
  })
})
