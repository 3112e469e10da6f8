import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'

import { startApp, type TestApp } from '../testing/app.ts'
import { appForAll } from '../testing/auth.ts'
import { anyEngine } from '../testing/engines.ts'
import { loadPageFiles } from './page-files.ts'

const KILOBYTE = 1024

describe('the page of the console', () => {
  anyEngine((engine) => {
    const app = appForAll(engine)
    let assets: string[]
    before(async () => {
      const { text } = await app().request('GET', '/console')
      assets = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, address]) => `/${address}`)
    })

    test('runs the scripts of this server only, is in no frame, and is not stored', async () => {
      const { status, headers } = await app().request('GET', '/console')
      assert.equal(status, 200)
      assert.equal(
        headers.get('content-security-policy'),
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'none'; connect-src 'self'; frame-src 'self'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
      )
      assert.deepEqual(
        [
          'cache-control',
          'cross-origin-opener-policy',
          'cross-origin-resource-policy',
          'x-frame-options',
          'referrer-policy',
          'x-content-type-options',
        ].map((name) => headers.get(name)),
        ['no-store', 'same-origin', 'same-origin', 'DENY', 'no-referrer', 'nosniff'],
      )
    })

    test('is where the first address of the banner leads a browser', async () => {
      const go = (accept: string) =>
        fetch(`${app().url}/`, { headers: { accept }, redirect: 'manual' }).then(({ status, headers }) => [
          status,
          headers.get('location'),
        ])
      assert.deepEqual(await go('text/html,application/xhtml+xml,*/*;q=0.8'), [302, 'console'])
      assert.deepEqual(await go('*/*'), [404, null])
    })

    test('has files that never change under their names', async () => {
      assert.equal(assets.length, 4)
      for (const path of assets) {
        const { status, headers } = await app().request('GET', path)
        assert.equal(status, 200, path)
        assert.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable')
        const again = await app().request('GET', path, { headers: { 'if-none-match': headers.get('etag')! } })
        assert.deepEqual([again.status, again.text], [304, ''])
      }
      const missing = await app().request('GET', '/console/assets/other.js')
      assert.deepEqual([missing.status, missing.body.error.code], [404, 'NOT_FOUND'])
    })

    test('is compressed for browsers', async () => {
      const compressed = await fetch(app().url + assets.at(-1)!, {
        headers: { 'accept-encoding': 'gzip, br' },
      })
      assert.equal(compressed.headers.get('content-encoding'), 'br')
      assert.match(await compressed.text(), /^import/)
      const plain = await app().request('GET', assets.at(-1)!)
      assert.equal(plain.headers.get('content-encoding'), null)
    })

    test('is small: 60 KB of script and 12 KB of style at first, 8 KB a screen', async () => {
      const files = await loadPageFiles()
      const sizeOf = (name: string) => gzipSync(files.get(name)!.bytes, { level: 9 }).length
      const first = assets.map((path) => path.split('/').at(-1)!)
      const sum = (ending: string) =>
        first.filter((name) => name.endsWith(ending)).reduce((total, name) => total + sizeOf(name), 0)
      assert.ok(sum('.js') <= 60 * KILOBYTE, `${sum('.js')} bytes of script`)
      assert.ok(sum('.css') <= 12 * KILOBYTE, `${sum('.css')} bytes of style`)
      const later = [...files].filter(
        ([name]) => name.endsWith('.js') && !first.includes(name) && !name.startsWith('sandbox-'),
      )
      for (const [name, { bytes }] of later)
        if (name.startsWith('json-editor-'))
          assert.ok(sizeOf(name) <= 135 * KILOBYTE, `${name}: ${sizeOf(name)} bytes`)
        else assert.ok(bytes.length <= limitOf(name) * KILOBYTE, `${name}: ${bytes.length} bytes`)
    })

    test('has no host name that a stranger can own, outside production', async () => {
      for (const path of ['/console', assets[0]!]) {
        const { status } = await app().request('GET', path, { headers: { host: 'rebound.example' } })
        assert.equal(status, 403, path)
      }
    })

    test('answers other methods with 405, and an address with a slash with the right one', async () => {
      const posted = await app().request('POST', '/console')
      assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD, OPTIONS'])
      const slash = await app().request('GET', '/console/')
      assert.deepEqual([slash.status, slash.headers.get('location')], [308, '../console'])
    })

    test('is not there if the configuration says so', async (t) => {
      const closed: TestApp[] = [
        await startApp(t, engine, { config: { console: false } }),
        await startApp(t, engine, { environment: { SIXWIRE_CONSOLE: 'off' } }),
      ]
      for (const one of closed)
        for (const path of ['/', '/console', assets[0]!])
          assert.equal((await one.request('GET', path, { headers: { accept: 'text/html' } })).status, 404)
      for (const one of closed)
        for (const method of ['POST', 'DELETE'])
          assert.equal((await one.request(method, '/console/session', { body: {} })).status, 404)
    })
  })
})

/** In KB minified: of a screen, and of what the client loads at its first use. */
const limitOf = (name: string): number => (name.startsWith('changes-') ? 16 : 8)
