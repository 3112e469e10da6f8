import assert from 'node:assert/strict'
import { test } from 'node:test'

import { isPrivateHost } from './private-host.ts'

test('a private host is an IP address, or a name that the public DNS does not serve', () => {
  for (const host of [
    'localhost',
    'shop.localhost',
    '127.0.0.1',
    '172.17.0.2',
    '[fd00::1]',
    'app',
    'sixwire-1',
    'laptop.local',
    'host.docker.internal',
    'nas.home.arpa',
  ])
    assert.ok(isPrivateHost(host), host)
  for (const host of [
    '',
    'shop.example',
    'local.example',
    'app.',
    'home.arpa.example',
    'evil.internal.example',
  ])
    assert.ok(!isPrivateHost(host), host)
})
