import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { masked, placeOf } from './masked.ts'

const shown = (value: unknown, name = 'x') => masked(value, placeOf([name]))

describe('a text is shown without what opens something', () => {
  for (const [text, rest] of [
    ['postgres://me:hunter2 x@127.0.0.1:1/shop', 'postgres://***@127.0.0.1:1/shop'],
    ['postgres://me:a?b=hunter2@db.example/shop', 'postgres://***'],
    ['postgres://me:a#hunter2@db.example/shop', 'postgres://***'],
    ['postgres://me:a/hunter2@db.example/shop', 'postgres://***@db.example/shop'],
    ['postgres://db.example/shop?password=a@hunter2', 'postgres://***'],
    ['https://api.telegram.org/bot123456789:AAHhunter2/sendMessage', 'https://api.telegram.org/***/***'],
    ['https://node.example/v2/k3y', 'https://node.example/v2/***'],
    ['https://app.example/#access_token=hunter2&x=1', 'https://app.example/#access_token=***&x=***'],
    ['https://app.example/?hunter2', 'https://app.example/?***'],
    ['https://app.example/a;hunter2', 'https://app.example/***'],
    ['Server=db.example;Password="hunter2;x";Port=1', 'Server=db.example;Password=***'],
    ['Server=db.example; Access Key = hunter2', 'Server=db.example; Access Key = ***'],
    ['Bearer hunter2', '***'],
    ['basic aHVudGVyMg==', '***'],
    ['eyJhbGciOiJIUzI1NiJ9.e30.x', '***'],
    ['me:hunter2 x@cache.example', '***@cache.example'],
    ['me:hunter2 https://a.example', '***'],
    // An operator has to tell which of these is in force.
    ['https://shop.example:8443/app/sign-in', 'https://shop.example:8443/app/sign-in'],
    ['smtp://mail.example:587', 'smtp://mail.example:587'],
    ['smtp://me:hunter2@mail.example:587', 'smtp://***@mail.example:587'],
    [
      'postgres://db.example:5432/shop_2?sslmode=require',
      'postgres://db.example:5432/shop_2?sslmode=require',
    ],
    ['sqlite:./data/a@b/shop-2.db', 'sqlite:./data/a@b/shop-2.db'],
    ['/var/lib/shop-2/data', '/var/lib/shop-2/data'],
    ['Shop <ada@shop.example>', 'Shop <ada@shop.example>'],
    ['60/min', '60/min'],
    ['::1', '::1'],
  ] as const)
    test(text, () => assert.equal(shown(text), rest))
})

test('what a name says is secret is masked whatever it is, but for numbers and switches', () => {
  const names =
    'secrets secret2 passwordOld smtpPass privateKeyPem pwd cookie sessionCookies jwt apiKeys API_KEY tokens authHeader seedPhrase'
  for (const name of names.split(' ')) {
    for (const value of ['hunter2', ['hunter2'], { github: 'hunter2' }, [4711]])
      assert.equal(shown(value, name), '***', name)
    for (const value of [5, true, null, '']) assert.equal(shown(value, name), value)
  }
  for (const name of ['author', 'host', 'url', 'label', 'clientId']) assert.equal(shown('a', name), 'a', name)
  assert.deepEqual(shown([{ host: 'a', token: 'hunter2' }]), [{ host: 'a', token: '***' }])
})
