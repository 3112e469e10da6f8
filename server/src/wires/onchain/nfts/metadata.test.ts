import assert from 'node:assert/strict'
import { createServer } from 'node:https'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { before, describe, test } from 'node:test'

import { selfSigned } from '../../../testing/certificate.ts'
import { testClock } from '../../../testing/clock.ts'
import { endOfSuite } from '../../../testing/engines.ts'
import { startScriptedServer, type ScriptedServer } from '../../../testing/scripted-http.ts'
import { createMetadata, type MetadataReader } from './metadata.ts'

const CID = 'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG'
const json = (value: unknown): string => `data:application/json,${encodeURIComponent(JSON.stringify(value))}`

describe('metadata', () => {
  const ending = endOfSuite()
  const clock = testClock()
  let gateway: ScriptedServer
  let reader: MetadataReader
  /** Takes certificates of the test, and addresses of this machine. */
  let trusting: MetadataReader
  let origin: string
  let asked: string[] = []
  let connections = 0
  before(async () => {
    gateway = await startScriptedServer(ending, ({ path }, response) => {
      if (path.endsWith('/large')) response.end(`{"a":"${'x'.repeat(262_144)}"}`)
      else if (path.endsWith('/inside')) response.writeHead(302, { location: `${origin}/ok` }).end()
      else if (path.endsWith('/missing')) response.writeHead(404).end('{"a":1}')
      else if (path.endsWith('/silent')) clock.advance(5_100)
      else response.end(`{"name":"Art ${path}"}`)
    })
    const { key, cert } = selfSigned()
    const server = createServer({ key, cert }, ({ url = '' }, response) => {
      asked.push(url)
      const hops = Number(/^\/hops\/(\d+)/.exec(url)?.[1] ?? 0)
      if (url === '/http') response.writeHead(301, { location: `http://localhost:${gateway.port}/x` }).end()
      else if (hops > 0) response.writeHead(307, { location: `/hops/${hops - 1}` }).end()
      else response.end('{"from":"https"}')
    })
    server.on('connection', () => connections++)
    server.listen(0)
    await once(server, 'listening')
    ending.after(async () => {
      server.closeAllConnections()
      server.close()
    })
    origin = `https://localhost:${(server.address() as AddressInfo).port}`
    const gateways = {
      ipfs: `http://127.0.0.1:${gateway.port}/ipfs/`,
      arweave: `http://127.0.0.1:${gateway.port}/ar`,
    }
    reader = createMetadata({ clock, gateways })
    trusting = createMetadata({ clock, gateways, outbound: { ca: cert, isRefused: () => false } })
  })

  test('is in data: URIs of every form', async () => {
    const art = { name: 'Ärt #1', attributes: [{ trait_type: 'Level', value: 5 }] }
    const text = JSON.stringify(art)
    for (const uri of [
      json(art),
      `data:application/json;base64,${Buffer.from(text).toString('base64')}`,
      `DATA:application/json;charset=utf-8;base64,${Buffer.from(text).toString('base64')}`,
      `data:application/json;utf8,${text}`,
      `data:,${text}`,
    ])
      assert.deepEqual(await reader.read(uri), art, uri)
    assert.deepEqual(await reader.read('data:application/json,{"p":"100%"}'), { p: '100%' })
  })

  test('is null where it is no JSON object that is safe to answer', async () => {
    const deep = `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`
    for (const uri of [
      ...[
        '',
        'x',
        '1',
        'null',
        '[]',
        '"a"',
        '{',
        '{"__proto__":{"a":1}}',
        '{"a":1,"a":2}',
        '{"a":1e999}',
        deep,
      ].map((text) => `data:application/json,${text}`),
      'data:application/json',
      json({ a: 'x'.repeat(262_144) }),
      `data:,${' '.repeat(800_000)}{}`,
    ])
      assert.equal(await reader.read(uri), null, uri.slice(0, 60))
  })

  test('comes through the gateway for ipfs:// URIs, and once a minute', async () => {
    const uri = `ipfs://${CID}/7 a.json`
    for (let i = 0; i < 3; i++)
      assert.deepEqual(await reader.read(uri), { name: `Art /ipfs/${CID}/7%20a.json` })
    assert.equal(gateway.asked.length, 1)
    assert.deepEqual(await reader.read(`ipfs://ipfs/${CID}`), { name: `Art /ipfs/${CID}` })
    clock.advance(60_000)
    await reader.read(uri)
    assert.equal(gateway.asked.length, 3)
    for (const path of ['large', 'missing', 'inside', 'silent'])
      assert.equal(await reader.read(`ipfs://${CID}/${path}`), null, path)
    assert.equal(gateway.asked.length, 7)
    assert.equal(connections, 0, 'a gateway leads to no private address')
  })

  test('comes through the gateway for ar:// URIs', async () => {
    const id = 'g-'.repeat(21) + '_'
    assert.deepEqual(await reader.read(`ar://${id}/1.json`), { name: `Art /ar/${id}/1.json` })
    assert.deepEqual(await reader.read(`AR://${id}`), { name: `Art /ar/${id}` })
    const before = gateway.asked.length
    for (const uri of [`ar://${id}/../../x`, `ar://${id}?a=1`, 'ar://short', `ar://${id}x`])
      assert.equal(await reader.read(uri), null, uri)
    assert.equal(gateway.asked.length, before)
  })

  test('is never fetched by other schemes, or from other paths of the gateway', async () => {
    const before = gateway.asked.length
    for (const uri of [
      `http://127.0.0.1:${gateway.port}/ipfs/${CID}`,
      `ipfs://${CID}/../../api/v0/id`,
      `ipfs://${CID}/%2e%2e/%2e%2e/api`,
      `ipfs://${CID}/..%2f..%2fapi`,
      'ipfs://../api',
      'ipfs://short',
      `ipfs://${CID}?a=1`,
      `ftp://localhost:${gateway.port}/`,
      'file:///etc/passwd',
      'https://',
      'https://user:secret@localhost/',
      '',
    ])
      assert.equal(await trusting.read(uri), null, uri)
    assert.equal(gateway.asked.length, before)
  })

  test('is never fetched from a private address', async () => {
    const { port } = new URL(origin)
    for (const host of ['localhost', '127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', '2130706433'])
      assert.equal(await reader.read(`https://${host}:${port}/ok`), null, host)
    assert.equal(connections, 0)
  })

  test('follows three redirects, to https only', async () => {
    asked = []
    assert.deepEqual(await trusting.read(`${origin}/ok`), { from: 'https' })
    assert.deepEqual(await trusting.read(`${origin}/hops/3`), { from: 'https' })
    assert.equal(await trusting.read(`${origin}/hops/4`), null)
    const before = gateway.asked.length
    assert.equal(await trusting.read(`${origin}/http`), null)
    assert.equal(gateway.asked.length, before)
    assert.ok(asked.includes('/http'))
  })
})
