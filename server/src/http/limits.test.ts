import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientOf, parseRateLimit } from './limits.ts'
import type { RateLimit } from './route.ts'

test('a limit is a count and a period in milliseconds', () => {
  assert.deepEqual(parseRateLimit('30/min'), { count: 30, periodMs: 60_000 })
  assert.deepEqual(parseRateLimit('5/hour'), { count: 5, periodMs: 3_600_000 })
})

for (const limit of ['0/min', '-1/min', '1.5/hour', '1e3/min', 'NaN/min', '5/day', '5', '/min', ' 5/min'])
  test(`"${limit}" is no limit, which the start says`, () => {
    assert.throws(() => parseRateLimit(limit as RateLimit), new RegExp(`rate limit "${limit}"`))
  })

const network = '2001:db8:1:2::/64'
const clients: [ip: string, client: string][] = [
  ['127.0.0.1', '127.0.0.1'],
  ['203.0.113.9', '203.0.113.9'],
  // One IPv4 address has many forms of IPv6.
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['::FFFF:203.0.113.9', '203.0.113.9'],
  ['::ffff:cb00:7109', '203.0.113.9'],
  ['0:0:0:0:0:ffff:203.0.113.9', '203.0.113.9'],
  ['0000:0000:0000:0000:0000:ffff:cb00:7109', '203.0.113.9'],
  // One customer has a whole network of IPv6, and it has many forms.
  ['2001:db8:1:2::', network],
  ['2001:db8:1:2::1', network],
  ['2001:db8:1:2:ffff:ffff:ffff:ffff', network],
  ['2001:0db8:0001:0002:0000:0000:0000:0001', network],
  ['2001:DB8:1:2:3:4:5:6', network],
  ['2001:db8:1:2:3:4:192.0.2.1', network],
  ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8::3:4:5:6:7', '2001:db8:0:3::/64'],
  ['2001::7:1.2.3.4', '2001:0:0:0::/64'],
  ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::203.0.113.9', '64:ff9b:0:0::/64'],
  // Some proxies write the port too, which must not make a client of every connection.
  ['203.0.113.9:51234', '203.0.113.9'],
  ['[2001:db8:1:2::1]:51234', network],
  ['[2001:db8:1:2::1]', network],
  // What is no address is one client by its name, of bounded length.
  ['unknown', 'unknown'],
  ['', ''],
  ['1:2:3', '1:2:3'],
  ['not:an:address::at::all', 'not:an:address::at::all'],
  ['x'.repeat(10_000), 'x'.repeat(64)],
]

for (const [ip, client] of clients)
  test(`"${ip.slice(0, 50)}" stands for "${client.slice(0, 50)}"`, () => {
    assert.equal(clientOf(ip), client)
  })
