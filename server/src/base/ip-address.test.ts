import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import {
  isIpNetwork,
  isLoopbackAddress,
  isPublicAddress,
  networkOf,
  parseIpAddress,
  networkFilter,
} from './ip-address.ts'

const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '172.15.255.255',
  '172.32.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '169.253.255.255',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:80b::200e',
  '2001:4860:4860::8888',
  // The same hosts in other forms.
  '::ffff:1.1.1.1',
  '::ffff:0101:0101',
  '64:ff9b::1.1.1.1',
]

const NOT_PUBLIC = [
  // RFC 1122, RFC 1918, RFC 6598, RFC 3927, RFC 6890, RFC 5737, RFC 2544, RFC 5771, RFC 1112.
  '0.0.0.0',
  '0.1.2.3',
  '127.0.0.1',
  '127.255.255.255',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '100.64.0.1',
  '169.254.169.254',
  '192.0.0.1',
  '192.0.2.1',
  '192.88.99.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  // The same in the forms of IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo.
  '::ffff:127.0.0.1',
  '::ffff:a9fe:a9fe',
  '::127.0.0.1',
  '::1.1.1.1',
  '::ffff:0:127.0.0.1',
  '64:ff9b::127.0.0.1',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::1.1.1.1',
  '2002:7f00:1::',
  '2001:0:7f00:1::',
  // RFC 4291, RFC 4193, RFC 3879, RFC 6666, RFC 3849, RFC 9637, RFC 9602.
  '::',
  '::1',
  'fe80::1',
  'fe80::1%eth0',
  'febf::1',
  'fc00::1',
  'fd12:3456::1',
  'fec0::1',
  'ff02::1',
  '100::1',
  '2001:db8::1',
  '3fff::1',
  '5f00::1',
  // Allocated to nobody.
  '1::1',
  '4000::1',
  'e000::1',
  // No addresses, or forms of which programs disagree.
  '',
  'localhost',
  'example.com',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '01.01.01.01',
  '1.1.1.1 ',
  '1.1.1.1:80',
  '[2606:4700:4700::1111]',
  '1.1.1.1/32',
]

describe('addresses of the public Internet', () => {
  for (const ip of PUBLIC) test(`"${ip}" is one`, () => assert.equal(isPublicAddress(ip), true))
  for (const ip of NOT_PUBLIC) test(`"${ip}" is none`, () => assert.equal(isPublicAddress(ip), false))
})

describe('loopback addresses', () => {
  for (const ip of ['127.0.0.1', '127.9.9.9', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1'])
    test(`"${ip}" is one`, () => assert.equal(isLoopbackAddress(ip), true))
  for (const ip of ['', '0.0.0.0', '::', '128.0.0.1', '127.0.0.256', '127.1', '::127.0.0.1', 'localhost'])
    test(`"${ip}" is none`, () => assert.equal(isLoopbackAddress(ip), false))
})

describe('networks', () => {
  for (const network of ['10.0.0.1', '10.0.0.0/8', '0.0.0.0/0', '::1', 'fd00::/8', '::/128'])
    test(`"${network}" is one`, () => assert.equal(isIpNetwork(network), true))
  for (const text of [
    '',
    '/',
    '10.0.0.0/',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    '10.0.0.0/8 ',
    '10/8',
  ])
    test(`"${text}" is none`, () => assert.equal(isIpNetwork(text), false))
})

describe('any IPv6 address', () => {
  test('has the network of its first 64 bits, however it is written', () => {
    fc.assert(
      fc.property(fc.ipV6(), (ip) => {
        const address = parseIpAddress(ip)
        if (address?.kind() === 'ipv4') return
        const first = new URL(`http://[${ip}]`).hostname
        const groups = networkOf(ip)!.replace('::/64', '')
        assert.equal(networkOf(`${groups}:0:0:0:0`), networkOf(first.slice(1, -1)))
        assert.equal(groups.split(':').length, 4)
      }),
    )
  })

  test('is read if Node reads it, and nothing else is', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV6(), fc.ipV4(), fc.ipV4Extended(), fc.string()), (text) => {
        assert.equal(parseIpAddress(text) !== undefined, isIP(text) !== 0)
      }),
    )
  })
})

test('an address is in a network, in whichever form a socket shows it', () => {
  const isListed = networkFilter(['172.16.0.0/12', '192.0.2.7', 'fd00::/8', 'fe80::/10'])
  for (const address of [
    '172.16.0.1',
    '172.31.255.255',
    '::ffff:172.17.0.1',
    '192.0.2.7',
    'fd12::1',
    'fe80::1%eth0',
  ])
    assert.ok(isListed(address), address)
  for (const address of [
    '172.32.0.0',
    '172.15.255.255',
    '::ffff:172.32.0.1',
    '192.0.2.8',
    'fc00::1',
    '',
    'app',
  ])
    assert.ok(!isListed(address), address)
  assert.ok(!networkFilter([])('127.0.0.1'))
})
