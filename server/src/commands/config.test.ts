import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { describe, test } from 'node:test'

import type { SettingInForce } from '../wires/core/settings/settings-in-force.ts'
import { runHere } from '../testing/command.ts'
import { applicationFolder } from '../testing/program.ts'

const HIDDEN = 'hunter2hunter2'

/** Secrets in every place where one can be. */
const HOSTILE = `
import { apple, defineConfig, defineWire, oidc, Type } from 'sixwire'
import { smtp } from 'sixwire/smtp'
const text = Type.Optional(Type.String())
const shop = defineWire({
  name: 'shop',
  options: Type.Object({
    apiKey: text, password: text, token: text, hook: text, server: text, list: Type.Array(Type.String()),
    nested: Type.Object({ credentials: Type.Object({ user: text }) }), made: Type.Unsafe({ type: 'object' }),
    colour: Type.String({ default: 'red' }), size: Type.Integer({ default: 3 }),
    shade: Type.Enum(['dark', 'light']), note: text, apiKeys: Type.Array(Type.String()), numbers: Type.Array(Type.Integer()),
    tokens: Type.Record(Type.String(), Type.String()), headers: Type.Object({ authorization: text }),
    rates: Type.Record(Type.String(), Type.Integer()), own: Type.Object({ region: Type.String({ default: 'eu' }), to: text }),
    tokenSeconds: Type.Integer(), isPrivate: Type.Boolean(), seeds: Type.Array(Type.Integer()),
    lookup: Type.Unsafe({}),
  }),
  env: { SHOP_SIZE: 'size' },
  setup: () => ({ routes: [], service: undefined }),
})
export default defineConfig({
  auth: { registration: 'closed', idpa: { clientId: 'shown-id', clientSecret: '${HIDDEN}' },
    providers: {
      keycloak: oidc({ issuer: 'https://login.example', clientId: 'shown-id', clientSecret: '${HIDDEN}' }),
      apple: apple({ clientId: 'shown-id', teamId: 'shown-team', keyId: 'shown-key', privateKey: '${HIDDEN}' }),
    } },
  store: { collections: { secrets: 'owner' } },
  messaging: { email: [smtp({ url: 'smtp://me:${HIDDEN}@mail.example' })] },
  wires: [shop({
    apiKey: '${HIDDEN}', password: '${HIDDEN}', token: '${HIDDEN}', shade: 'light',
    note: '${HIDDEN}', apiKeys: ['${HIDDEN}'], tokens: { '${HIDDEN}': '${HIDDEN}' }, rates: { '${HIDDEN}': 1 },
    headers: { authorization: 'Bearer ${HIDDEN}' }, own: { to: '${HIDDEN}' }, numbers: [1, 2], tokenSeconds: 5,
    isPrivate: true, seeds: [4711, 4712], lookup: new Map([['a', '${HIDDEN}']]),
    hook: 'https://hooks.example/services/${HIDDEN}${HIDDEN}?sig=${HIDDEN}', server: 'me:${HIDDEN}@cache.example',
    list: ['amqp://me:p@ss${HIDDEN}@queue.example/a', 'sk_live_${HIDDEN}'],
    nested: { credentials: { user: '${HIDDEN}' } }, made: { name: 'own', secret: '${HIDDEN}', call() {} },
  })],
})`

const ENVIRONMENT = {
  SIXWIRE_SECRET: `${HIDDEN} that is long enough for it`,
  DATABASE_URL: `postgres://me:${HIDDEN}/@x@db.example/shop?password=${HIDDEN}&sslmode=verify-full`,
  STRIPE_SECRET_KEY: `sk_test_${HIDDEN}`,
  STRIPE_WEBHOOK_SECRET: HIDDEN,
  PAYPAL_CLIENT_SECRET: HIDDEN,
  PAYMENT_MNEMONIC: `test test ${HIDDEN}`,
  ETHEREUM_RPC_URL: `https://node.example/v2/${HIDDEN}${HIDDEN},https://:${HIDDEN}@other.example?key=${HIDDEN}`,
  TWILIO_AUTH_TOKEN: HIDDEN,
  MAIL_BOUNCE_SECRET: `${HIDDEN}${HIDDEN}`,
  S3_SECRET_ACCESS_KEY: HIDDEN,
  S3_ACCESS_KEY_ID: 'shown-key-id',
  ETHEREUM_TOKENS: 'KEY=0x00000000000000000000000000000000000000aa',
  IDPB_CLIENT_ID: 'shown-id',
  S3_BUCKET: 'shop-files',
  S3_ENDPOINT: `https://me:${HIDDEN}@s3.example`,
}

describe('sixwire config', () => {
  test('shows each setting, its value, and where it is from', async (t) => {
    const folder = await applicationFolder(t, {
      'sixwire.config.ts': `export default { name: 'shop', logLevel: 'warn', host: '::1', auth: { registration: 'closed' }, store: { backups: { every: '1d' } } }`,
      '.env': 'LOG_LEVEL=error\nSIXWIRE_POLICY=guarded\nTX_STUCK_SECONDS=90\nIDPA_LABEL=\n',
    })
    const environment = {
      SIXWIRE_POLICY: 'open',
      SIXWIRE_ADMINS: 'a@example.com,b@example.com',
      PORT: '4000',
    }
    const { code, output, errors } = await runHere(['config', '--json', '--port', '5000'], {
      folder,
      environment,
    })
    assert.equal(code, 0, errors)
    const found = new Map(
      (JSON.parse(output) as SettingInForce[]).map(({ option, ...rest }) => [option, rest]),
    )
    const expected: [option: string, variable: string | null, value: unknown, source: string][] = [
      ['name', null, 'shop', 'sixwire.config.ts'],
      ['version', null, '0.0.0', 'default'],
      ['port', 'PORT', 5000, 'command line'],
      ['policy', 'SIXWIRE_POLICY', 'open', 'environment'],
      ['admins', 'SIXWIRE_ADMINS', ['a@example.com', 'b@example.com'], 'environment'],
      ['logLevel', 'LOG_LEVEL', 'error', '.env'],
      ['host', 'HOST', '::1', 'sixwire.config.ts'],
      ['publicUrl', 'PUBLIC_URL', 'http://localhost:5000', 'default'],
      ['SIXWIRE_SECRET', 'SIXWIRE_SECRET', '***', 'created at the first start'],
      ['onchain.stuckSeconds', 'TX_STUCK_SECONDS', 90, '.env'],
      ['auth.registration', null, 'closed', 'sixwire.config.ts'],
      ['auth.bcryptCost', null, 12, 'default'],
      ['auth.passkeys', null, {}, 'default'],
      ['store.backups.every', null, '1d', 'sixwire.config.ts'],
      ['store.backups.keep', null, 7, 'default'],
    ]
    for (const [option, variable, value, source] of expected)
      assert.deepEqual(found.get(option), { variable, value, source }, option)
    const shown = await runHere(['config'], { folder, environment })
    assert.match(shown.output, /^SETTING +VALUE +FROM +VARIABLE\nname +shop +sixwire\.config\.ts\n/)
    assert.match(shown.output, /^port +4000 +environment +PORT$/m)
    assert.deepEqual((await readdir(folder)).toSorted(), ['.env', 'sixwire.config.ts'], 'it writes nothing')
  })

  test('shows no secret, wherever it is', async (t) => {
    const folder = await applicationFolder(t, { 'sixwire.config.ts': HOSTILE })
    const asJson = await runHere(['config', '--json'], { folder, environment: ENVIRONMENT })
    const asText = await runHere(['config'], { folder, environment: ENVIRONMENT })
    assert.equal(asJson.code, 0)
    assert.match(asJson.errors, /^sixwire: what is set in the console is not shown: DATABASE_URL: [^\n]+\n$/)
    for (const { output, errors } of [asJson, asText]) assert.doesNotMatch(output + errors, /hunter2|471[12]/)
    const values = new Map(
      (JSON.parse(asJson.output) as SettingInForce[]).map(({ option, value }) => [option, value]),
    )
    // What is no secret stays, so that the operator can tell which one is in force.
    for (const [option, value] of [
      ['databaseUrl', 'postgres://***@db.example/shop?password=***&sslmode=verify-full'],
      [
        'onchain.chains.ethereum.rpcUrls',
        ['https://node.example/v2/***', 'https://***@other.example?key=***'],
      ],
      ['auth.idpa.clientId', 'shown-id'],
      ['auth.providers.keycloak.issuer', 'https://login.example'],
      ['auth.providers.keycloak.clientSecret', '***'],
      ['auth.providers.apple.keyId', 'shown-key'],
      ['auth.providers.apple.privateKey', '***'],
      ['store.s3.bucket', 'shop-files'],
      ['store.s3.endpoint', 'https://***@s3.example'],
      ['messaging.email', ['[smtp]']],
      ['auth.idpb.tokenUrl', 'https://github.com/login/oauth/access_token'],
      ['auth.accessTokenSeconds', 3600],
      ['store.s3.accessKeyId', 'shown-key-id'],
      ['store.collections.secrets', 'owner'],
      ['onchain.chains.ethereum.tokens.KEY', '0x00000000000000000000000000000000000000aa'],
      // Nobody knows what the texts of an application's own wire are.
      ['shop.hook', '***'],
      ['shop.list', ['***', '***']],
      ['shop.apiKeys', '***'],
      ['shop.tokens', '***'],
      ['shop.rates', '***'],
      ['shop.headers.authorization', '***'],
      ['shop.made', '[set]'],
      ['shop.lookup', '[set]'],
      ['shop.colour', 'red'],
      ['shop.own.region', 'eu'],
      ['shop.own.to', '***'],
      ['shop.shade', 'light'],
      ['shop.numbers', [1, 2]],
      ['shop.size', 3],
      ['shop.tokenSeconds', 5],
      ['shop.isPrivate', true],
    ] as const)
      assert.deepEqual(values.get(option), value, option)
  })

  test('refuses what a start refuses, in the same line', async (t) => {
    const folder = await applicationFolder(t, {})
    for (const line of ['PORT=abc', 'SIXWIRE_POLCY=open', 'TX_STUCK_SECONDS=x']) {
      const environment = Object.fromEntries([line.split('=')]) as Record<string, string>
      const { code, output, errors } = await runHere(['config'], { folder, environment })
      assert.deepEqual([code, output], [1, ''])
      assert.equal(errors, (await runHere(['check'], { folder, environment })).errors)
    }
  })
})
