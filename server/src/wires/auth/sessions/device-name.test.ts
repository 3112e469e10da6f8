import assert from 'node:assert/strict'
import { test } from 'node:test'

import { deviceName } from './device-name.ts'

const MAC = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)'
const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)'
const NAMES: Record<string, string> = {
  'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0': 'Firefox on Linux',
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/131.0.0.0 Safari/537.36`]: 'Chrome on Windows',
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0`]:
    'Edge on Windows',
  [`${MAC} AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15`]: 'Safari on macOS',
  [`${MAC} ${WEBKIT} Chrome/131.0.0.0 Safari/537.36 OPR/115.0.0.0`]: 'Opera on macOS',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1':
    'Safari on iPhone',
  'Mozilla/5.0 (iPad; CPU OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/131.0.6778.73 Mobile/15E148 Safari/604.1':
    'Chrome on iPad',
  [`Mozilla/5.0 (Linux; Android 10; K) ${WEBKIT} Chrome/131.0.0.0 Mobile Safari/537.36`]: 'Chrome on Android',
  [`Mozilla/5.0 (Linux; Android 14; SM-S918B) ${WEBKIT} SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36`]:
    'Samsung Internet on Android',
  [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${WEBKIT} Chrome/131.0.0.0 Safari/537.36`]: 'Chrome on ChromeOS',
  'Shop/4.2 (Linux; Android 14)': 'an app on Android',
  'curl/8.10.1': 'an app or a program',
  'Your account is closed, see evil.example': 'an app or a program',
  '': 'an app or a program',
}

for (const [userAgent, name] of Object.entries(NAMES))
  test(`${name}: ${userAgent}`, () => assert.equal(deviceName(userAgent), name))
