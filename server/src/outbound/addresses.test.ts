// Addresses that users give must lead to the public internet, however they are written and whatever a resolver says.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { Resolver } from 'node:dns'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, test } from 'node:test'

import type { Ending } from '../testing/engines.ts'
import { createOutbound, type Outbound, type OutboundOptions } from './outbound.ts'
import { answer, answers, startPeer, type Peer } from './peer.fixture.ts'

const REFUSED = /has an address that is refused/

async function isRefused(outbound: Outbound, url: string, peer: Peer): Promise<void> {
  const reply = await outbound.call(url)
  assert.equal(reply.kind, 'not-sent', url)
  assert.match((reply as { reason: string }).reason, REFUSED, url)
  assert.deepEqual([peer.connections(), peer.received], [0, []], url)
}

describe('a URL of a user', () => {
  for (const host of [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '017700000001',
    '127.0.0.1.',
    '①②⑦.0.0.1',
    '%31%32%37.0.0.1',
    '[::1]',
    '[::]',
    '[::127.0.0.1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::127.0.0.1]',
    '[2002:7f00:1::]',
    '0.0.0.0',
    '0',
  ])
    test(`is refused that leads to this machine by ${host}`, async (t) => {
      const peer = await startPeer(t, (socket) => socket.end(answer('')))
      for (const scheme of ['http', 'https'])
        await isRefused(createOutbound({ refusePrivate: true }), `${scheme}://${host}:${peer.port}/`, peer)
    })

  for (const name of ['localhost', 'LOCALHOST', 'a.localhost', 'public.example'])
    test(`is refused whose name ${name} leads to this machine`, async (t) => {
      const peer = await startPeer(t, (socket) => socket.end(answer('')))
      const lookup = answers(['127.0.0.1', '::1'])
      await isRefused(createOutbound({ refusePrivate: true, lookup }), `http://${name}:${peer.port}/`, peer)
    })

  test('is refused whose user is a public name', async (t) => {
    const peer = await startPeer(t, (socket) => socket.end(answer('')))
    for (const url of [
      `http://public.example@127.0.0.1:${peer.port}/`,
      `http://public.example:80@127.0.0.1:${peer.port}/`,
      `http://public.example:80\\@127.0.0.1:${peer.port}/`,
      `http://127.0.0.1:${peer.port}#@public.example/`,
      `http://127.0.0.1:${peer.port}\\@public.example/`,
    ]) {
      const reply = await createOutbound({ refusePrivate: true, lookup: answers('127.0.0.1') }).call(url)
      assert.equal(reply.kind, 'not-sent', url)
    }
    assert.equal(peer.connections(), 0)
  })

  test('goes through no proxy, which would choose the address', async (t) => {
    const proxy = await startPeer(t, (socket) => socket.end(answer('from the proxy')))
    const script = `
      import { createOutbound } from ${JSON.stringify(new URL('outbound.ts', import.meta.url).href)}
      for (const refusePrivate of [false, true])
        console.log((await createOutbound({ refusePrivate }).call('http://nobody.invalid/')).kind)`
    const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', script], {
      env: { ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: `http://127.0.0.1:${proxy.port}` },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const output = (await child.stdout.toArray()).join('')
    assert.deepEqual(output.trim().split('\n'), ['answered', 'not-sent'])
    assert.equal(proxy.received.length, 1)
  })
})

// Real sockets, so one loopback address stands for the public internet here, and the other for what is behind it.
describe('of a name whose answers change', () => {
  const INSIDE = '::1'
  const behind: OutboundOptions = { isRefused: (address) => address !== '127.0.0.1' }

  /** Two peers at one port: one that is public, and one that is not. */
  async function startBoth(ending: Ending) {
    const outside = await startPeer(ending, (socket) => socket.end(answer('outside')))
    const inside = await startPeer(ending, (socket) => socket.end(answer('inside')), {
      host: INSIDE,
      port: outside.port,
    })
    return { outside, inside, url: `http://public.example:${outside.port}/` }
  }

  test('the address is connected to that was checked', async (t) => {
    const { inside, url } = await startBoth(t)
    const outbound = createOutbound({ ...behind, lookup: answers('127.0.0.1', INSIDE) })
    const reply = await outbound.call(url)
    assert.ok(reply.kind === 'answered' && reply.body.toString() === 'outside')
    const later = await outbound.call(url)
    assert.ok(later.kind === 'not-sent' && REFUSED.test(later.reason))
    assert.equal(inside.connections(), 0)
  })

  test('only the addresses are tried that are not refused', async (t) => {
    const { inside, outside, url } = await startBoth(t)
    const lookup = answers([INSIDE, '127.0.0.1'])
    const reply = await createOutbound({ ...behind, lookup }).call(url)
    assert.ok(reply.kind === 'answered' && reply.body.toString() === 'outside')
    await outside.stop()
    assert.equal((await createOutbound({ ...behind, lookup }).call(url)).kind, 'not-sent')
    assert.equal(inside.connections(), 0)
  })

  test('the address is checked again on the connection, before anything is sent', async (t) => {
    const { inside, url } = await startBoth(t)
    // As if a lookup had been passed over: the first question is answered well, the second one not.
    let questions = 0
    const outbound = createOutbound({ isRefused: () => questions++ > 0, lookup: answers(INSIDE) })
    const reply = await outbound.call(url, { json: { a: 1 } })
    assert.ok(reply.kind === 'not-sent' && REFUSED.test(reply.reason))
    assert.equal(inside.received.join(''), '')
  })

  test('each redirect is checked again', async (t) => {
    const inside = await startPeer(t, (socket) => socket.end(answer('inside')), { host: INSIDE })
    for (const location of [
      `http://[${INSIDE}]:${inside.port}/`,
      `http://inside.example:${inside.port}/`,
      `//0:${inside.port}/`,
      `http://2130706434:${inside.port}/`,
    ]) {
      const outside = await startPeer(t, (socket) =>
        socket.end(answer('', { status: 302, headers: { location } })),
      )
      const outbound = createOutbound({ ...behind, redirects: 3, lookup: answers('127.0.0.1', INSIDE) })
      const reply = await outbound.call(`http://public.example:${outside.port}/`)
      assert.ok(reply.kind === 'unknown' && REFUSED.test(reply.reason), location)
    }
    assert.equal(inside.connections(), 0)
  })

  test('a resolver of the network that changes its mind is asked once for a call', async (t) => {
    const { inside, url } = await startBoth(t)
    const resolver = await startResolver(t, ['127.0.0.1', '127.0.0.2'])
    const lookup: OutboundOptions['lookup'] = (hostname, _options, callback) =>
      resolver.client.resolve4(hostname, (error, addresses) => {
        if (error) return callback(error, [])
        callback(
          null,
          addresses.map((address) => ({ address, family: 4 })),
        )
      })
    const outbound = createOutbound({ ...behind, lookup })
    const reply = await outbound.call(url)
    assert.ok(reply.kind === 'answered' && reply.body.toString() === 'outside')
    assert.equal(resolver.questions(), 1)
    const later = await outbound.call(url)
    assert.ok(later.kind === 'not-sent' && REFUSED.test(later.reason))
    assert.equal(resolver.questions(), 2)
    assert.equal(inside.connections(), 0)
  })
})

/** A DNS server (RFC 1035, section 4) that answers each question with the next address, for no time at all. */
async function startResolver(ending: Ending, addresses: readonly string[]) {
  let questions = 0
  const server = createSocket('udp4')
  server.on('message', (query, { port, address }) => {
    const ip = addresses[Math.min(questions++, addresses.length - 1)]!
    const end = query.indexOf(0, 12) + 5 // the name's last label, type and class
    const header = Buffer.from([query[0]!, query[1]!, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0])
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...ip.split('.').map(Number)])
    server.send(Buffer.concat([header, query.subarray(12, end), record]), port, address)
  })
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
  ending.after(async () => void server.close())
  const client = new Resolver()
  client.setServers([`127.0.0.1:${server.address().port}`])
  return { client, questions: () => questions }
}
