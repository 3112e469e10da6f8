import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { describe, test } from 'node:test'

import type { TSchema } from 'typebox'

import { Type } from '../../base/schema.ts'
import { readText, textOf } from './option-text.ts'
import { checkOptions, unconfiguredVariables, variablesOf } from './options.ts'
import type { ProviderDeclarations } from './provider-options.ts'
import { defineWire } from './wire.ts'

const setup = () => ({ routes: [] as const, service: undefined })

const Chain = Type.Object({
  rpcUrls: Type.Optional(Type.Array(Type.String({ pattern: '^https?://' }), { minItems: 1 })),
  id: Type.Optional(Type.Integer({ minimum: 1 })),
  confirmations: Type.Integer({ minimum: 1, default: 12 }),
  tokens: Type.Optional(Type.Record(Type.String({ pattern: '^[A-Z]+$' }), Type.String({ pattern: '^0x' }))),
  gasFactor: Type.Optional(Type.Number({ minimum: 1 })),
  legacy: Type.Optional(Type.Boolean()),
})

const Sales = Type.Object(
  {
    days: Type.Integer({ minimum: 1, default: 7 }),
    most: Type.Integer({ default: 4 }),
    label: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
)

/** Two chains that there always are, others from the configuration, and two providers beside them. */
const market = defineWire({
  name: 'market',
  options: Type.Object({
    chains: Type.Record(Type.String(), Chain, { default: {} }),
    card: Type.Optional(
      Type.Object({ key: Type.Optional(Type.String()), label: Type.Optional(Type.String()) }),
    ),
    phone: Type.Optional(
      Type.Object({
        account: Type.Optional(Type.String()),
        voice: Type.Optional(Type.String()),
        text: Type.Optional(Type.String()),
      }),
    ),
    cards: Type.Optional(Type.Array(Type.String())),
    voices: Type.Optional(Type.Array(Type.String())),
    texts: Type.Optional(Type.Array(Type.String())),
    speed: Type.Union([Type.Literal('fast'), Type.Literal('slow'), Type.Integer({ minimum: 1 })], {
      default: 'fast',
    }),
    bounceSecret: Type.Optional(Type.String({ minLength: 8 })),
    sales: Type.Union([Type.Literal(false), Sales], { default: { days: 7, most: 4 } }),
  }),
  env: { MARKET_SPEED: 'speed', MARKET_SECRET: 'bounceSecret' },
  providers: {
    'chains.*': {
      instances: ['ethereum', 'base'],
      env: {
        '*_RPC_URL': 'rpcUrls',
        '*_ID': 'id',
        '*_CONFIRMATIONS': 'confirmations',
        '*_TOKENS': 'tokens',
        '*_GAS_FACTOR': 'gasFactor',
        '*_LEGACY': 'legacy',
      },
      sharedWithSandbox: ['confirmations'],
    },
    card: {
      env: { CARD_KEY: 'key', CARD_LABEL: 'label' },
      sharedWithSandbox: ['label'],
      replacedBy: { cards: ['key', 'label'] },
    },
    phone: {
      env: { PHONE_ACCOUNT: 'account', PHONE_VOICE: 'voice', PHONE_TEXT: 'text' },
      replacedBy: { voices: ['voice'], texts: ['text'] },
    },
  },
  setup,
})

type Options = Parameters<typeof market>[0]
type Environment = Record<string, string>

const checked = (environment: Environment, options: Options = {}, standIns: Environment = {}) => {
  const wire = market(options)
  return checkOptions([wire], environment, standIns).get(wire) as Required<NonNullable<Options>>
}

const refusal = (environment: Environment, options: Options = {}): string => {
  try {
    checked(environment, options)
  } catch (error) {
    assert.equal((error as Error).name, 'StartError', String(error))
    return (error as Error).message
  }
  return 'nothing is refused'
}

describe('the text of a variable is read by the schema of its option', () => {
  for (const [variable, text, value] of [
    ['ETHEREUM_ID', '1', 1],
    ['ETHEREUM_ID', '+31337', 31337],
    ['ETHEREUM_CONFIRMATIONS', '3', 3],
    ['ETHEREUM_GAS_FACTOR', '1.25', 1.25],
    ['ETHEREUM_GAS_FACTOR', '2', 2],
    ['ETHEREUM_GAS_FACTOR', '1e3', 1000],
    ['ETHEREUM_LEGACY', 'on', true],
    ['ETHEREUM_LEGACY', 'off', false],
    ['ETHEREUM_RPC_URL', 'http://a', ['http://a']],
    ['ETHEREUM_RPC_URL', ' http://a , http://b,', ['http://a', 'http://b']],
    ['ETHEREUM_TOKENS', 'USDC=0x1', { USDC: '0x1' }],
    ['ETHEREUM_TOKENS', 'USDC=0x1, DAI = 0x2=', { USDC: '0x1', DAI: '0x2=' }],
  ] as const)
    test(`${variable}=${text}`, () => {
      const option = {
        ID: 'id',
        CONFIRMATIONS: 'confirmations',
        GAS_FACTOR: 'gasFactor',
        LEGACY: 'legacy',
        RPC_URL: 'rpcUrls',
        TOKENS: 'tokens',
      }[variable.replace('ETHEREUM_', '')]!
      const { ethereum } = checked({ [variable]: text }).chains as Record<string, Record<string, unknown>>
      assert.deepEqual(ethereum![option], value)
    })

  test('alternatives are tried one after the other', () => {
    for (const [text, value] of [
      ['slow', 'slow'],
      ['5', 5],
    ] as const)
      assert.equal(checked({ MARKET_SPEED: text }).speed, value)
    assert.match(refusal({ MARKET_SPEED: 'steady' }), /^MARKET_SPEED: must be one of fast, slow/)
  })

  test('every value that a variable can hold comes back from its text', (t) => {
    const seed = randomInt(2 ** 31)
    t.diagnostic(`seed ${seed}`)
    let state = seed
    const random = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
      return (state >>> 8) % below
    }
    const word = (): string =>
      Array.from({ length: 1 + random(8) }, () => 'abcXYZ019 _-=:/é'[random(16)])
        .join('')
        .trim() || 'x'
    const number = (): number => (random(2) ? -1 : 1) * random(2 ** 30) * (random(2) ? 1 : 2 ** random(20))
    const kinds = [
      () => [Type.String(), word()] as const,
      () => [Type.Boolean(), random(2) === 0] as const,
      () => [Type.Integer(), number()] as const,
      () => [Type.Number(), number() / 2 ** random(30)] as const,
    ]
    for (let round = 0; round < 2_000; round++) {
      const kind = kinds[random(kinds.length)]!
      const [schema, value] = kind()
      const same = Array.from({ length: random(4) }, () => kind()[1])
      const names = same.map((_, at) => `${word().replaceAll(/[= ]/g, '')}${at}`)
      const record = Object.fromEntries(same.map((one, at) => [names[at]!, one]))
      for (const [shape, whole] of [
        [schema, value],
        [Type.Array(schema), same],
        [Type.Record(Type.String(), schema), record],
      ] as const)
        assert.deepEqual(readText(shape, textOf(whole)!, 'X'), whole, `seed ${seed}, round ${round}`)
    }
  })
})

describe('a text that does not fit stops the start with one line that names its variable', () => {
  for (const [variable, text, line] of [
    ['ETHEREUM_ID', 'one', 'ETHEREUM_ID: write a whole number'],
    ['ETHEREUM_ID', '1.5', 'ETHEREUM_ID: write a whole number'],
    ['ETHEREUM_ID', '0x1', 'ETHEREUM_ID: write a whole number'],
    ['ETHEREUM_ID', '9007199254740993', 'ETHEREUM_ID: write a whole number'],
    ['ETHEREUM_ID', '0', 'ETHEREUM_ID: must be >= 1'],
    ['ETHEREUM_GAS_FACTOR', '1,5', 'ETHEREUM_GAS_FACTOR: write a number'],
    ['ETHEREUM_GAS_FACTOR', 'Infinity', 'ETHEREUM_GAS_FACTOR: write a number'],
    ['ETHEREUM_GAS_FACTOR', ' ', 'ETHEREUM_GAS_FACTOR: write a number'],
    ['ETHEREUM_LEGACY', 'yes', 'ETHEREUM_LEGACY: write on or off'],
    ['ETHEREUM_LEGACY', 'true', 'ETHEREUM_LEGACY: write on or off'],
    ['ETHEREUM_RPC_URL', 'http://a,b', 'ETHEREUM_RPC_URL: must match pattern "^https?://"'],
    ['ETHEREUM_RPC_URL', ',', 'ETHEREUM_RPC_URL: must NOT have fewer than 1 items'],
    ['ETHEREUM_TOKENS', 'USDC', 'ETHEREUM_TOKENS: write a list like NAME=value,OTHER=value'],
    ['ETHEREUM_TOKENS', '=0x1', 'ETHEREUM_TOKENS: write a list like NAME=value,OTHER=value'],
    ['ETHEREUM_TOKENS', 'A=0x1,A=0x2', 'ETHEREUM_TOKENS: write a list like NAME=value,OTHER=value'],
    ['ETHEREUM_TOKENS', 'USDC=1', 'ETHEREUM_TOKENS: must match pattern "^0x"'],
    ['MARKET_SECRET', 'short', 'MARKET_SECRET: must NOT have fewer than 8 characters'],
  ] as const)
    test(`${variable}=${text}`, () => assert.equal(refusal({ [variable]: text }), line))

  test('what the configuration file sets is named by the option', () => {
    assert.equal(refusal({}, { chains: { base: { id: 0 } } }), 'market.chains.base.id: must be >= 1')
  })

  test('an option of an entry that does not exist is refused', () => {
    const chains = { base: { rpcUrl: 'http://a' } } as never
    assert.equal(
      refusal({}, { chains }),
      'market.chains.base.rpcUrl: there is no such option: did you mean rpcUrls?',
    )
  })
})

test('an object within a union has its defaults, and its faults are named', () => {
  const cases = [
    [{}, { days: 7, most: 4 }],
    [{ sales: {} }, { days: 7, most: 4 }],
    [{ sales: { days: 2 } }, { days: 2, most: 4 }],
    [{ sales: false }, false],
  ] as const
  for (const [options, sales] of cases) assert.deepEqual(checked({}, options).sales, sales)
  for (const [sales, line] of [
    [{ days: 0 }, 'market.sales.days: must be >= 1'],
    [{ day: 1 }, 'market.sales.day: there is no such option: did you mean days?'],
    [true, 'market.sales: must be one of false, or object'],
  ] as const)
    assert.equal(refusal({}, { sales: sales as never }), line)
})

describe("the schema of an application's own wire is held to what it says", () => {
  const faultOf = (options: TSchema, written: object = {}) => {
    const wire = defineWire({ name: 'w', options, setup })
    try {
      checkOptions([wire(written)])
    } catch (error) {
      return (error as Error).message
    }
    return 'nothing is refused'
  }

  test('a default has to fit its own schema', () => {
    assert.equal(faultOf(Type.Object({ a: Type.Integer({ default: 'x' }) })), 'w.a: must be integer')
    const nested = Type.Object({
      in: Type.Object({ a: Type.Integer({ minimum: 1 }) }, { default: { a: 0 } }),
    })
    assert.equal(faultOf(nested), 'w.in.a: must be >= 1')
  })

  test('a name that is required has to be there, without a property of it too', () => {
    const required = Type.Unsafe({ type: 'object', properties: {}, required: ['a'] })
    assert.equal(faultOf(required), 'w.a: is required')
    const open = Type.Unsafe({ type: 'object', additionalProperties: { type: 'integer' }, required: ['a'] })
    assert.equal(faultOf(open, { b: 1 }), 'w.a: is required')
    assert.equal(faultOf(open, { a: 1 }), 'nothing is refused')
  })
})

test('how an option is checked does not depend on what was checked before', () => {
  class Label {
    label = 5
  }
  assert.deepEqual(checked({}, { card: {} }).card, {})
  assert.equal(refusal({}, { card: new Label() as never }), 'market.card.label: must be string')
})

describe('providers that the configuration describes alike', () => {
  test('have variables for the instances that there always are, and for those of the configuration', () => {
    const { variables } = market({ chains: { polygonAmoy: {}, 'my-chain': {} } })
    assert.deepEqual(
      Object.keys(variables).filter((name) => name.endsWith('_RPC_URL')),
      ['ETHEREUM_RPC_URL', 'BASE_RPC_URL', 'POLYGON_AMOY_RPC_URL', 'MY_CHAIN_RPC_URL'],
    )
    const { chains } = checked({ MY_CHAIN_ID: '7' }, { chains: { 'my-chain': { gasFactor: 2 } } })
    assert.deepEqual(chains, { 'my-chain': { gasFactor: 2, id: 7, confirmations: 12 } })
  })

  test('exist only if something sets them', () => {
    assert.deepEqual(checked({}).chains, {})
    assert.deepEqual(Object.keys(checked({ BASE_ID: '1' }).chains), ['base'])
  })

  test('the environment takes precedence over the file, the file over a stand-in', () => {
    const chains = { base: { id: 2, confirmations: 5 } }
    const standIns = { BASE_ID: '3', BASE_CONFIRMATIONS: '3', BASE_RPC_URL: 'http://c' }
    const idOf = (environment: Environment, options: Options) =>
      (checked(environment, options, standIns).chains as Record<string, { id?: number }>)['base']!.id
    assert.equal(idOf({ BASE_ID: '1' }, { chains }), 1)
    assert.equal(idOf({ BASE_ID: '' }, { chains }), 2)
    assert.equal(idOf({}, { chains: { base: { confirmations: 5 } } }), 3)
  })
})

const STAND_INS = {
  ETHEREUM_RPC_URL: 'http://stand-in/ethereum',
  ETHEREUM_ID: '31337',
  ETHEREUM_CONFIRMATIONS: '3',
  BASE_RPC_URL: 'http://stand-in/base',
  BASE_ID: '31338',
  CARD_KEY: 'stand-in',
  CARD_LABEL: 'Stand-in',
  PHONE_ACCOUNT: 'stand-in',
  PHONE_VOICE: '1',
  PHONE_TEXT: '2',
  MARKET_SECRET: 'of a stand-in',
}

describe('a stand-in steps back provider by provider', () => {
  const left = (environment: Environment, options: Options = {}): string[] =>
    [...unconfiguredVariables([market(options)], environment)].filter((name) => name in STAND_INS)
  const without = (...names: string[]): string[] =>
    Object.keys(STAND_INS).filter(
      (name) => name !== 'MARKET_SECRET' && !names.some((one) => name.startsWith(one)),
    )

  test('nothing is configured: all are left to stand-ins', () => {
    assert.deepEqual(left({}), without())
    const { chains, card, bounceSecret } = checked({}, {}, STAND_INS)
    assert.deepEqual(chains, {
      ethereum: { rpcUrls: ['http://stand-in/ethereum'], id: 31337, confirmations: 3 },
      base: { rpcUrls: ['http://stand-in/base'], id: 31338, confirmations: 12 },
    })
    assert.deepEqual([card, bounceSecret], [{ key: 'stand-in', label: 'Stand-in' }, 'of a stand-in'])
  })

  test('the address of one chain ends the stand-in of that chain alone', () => {
    for (const [environment, options] of [
      [{ ETHEREUM_RPC_URL: 'https://mainnet' }, {}],
      [{}, { chains: { ethereum: { rpcUrls: ['https://mainnet'] } } }],
    ] as const) {
      assert.deepEqual(left(environment, options as Options), without('ETHEREUM'))
      const { chains } = checked(environment, options as Options, STAND_INS)
      assert.deepEqual(chains, {
        ethereum: { rpcUrls: ['https://mainnet'], confirmations: 12 },
        base: { rpcUrls: ['http://stand-in/base'], id: 31338, confirmations: 12 },
      })
    }
  })

  test('what a stand-in takes, too, does not end it', () => {
    const environment = { ETHEREUM_CONFIRMATIONS: '1', CARD_LABEL: 'Shop' }
    assert.deepEqual(left(environment), without())
    const { chains, card } = checked(environment, {}, STAND_INS)
    assert.deepEqual((chains as Record<string, unknown>)['ethereum'], {
      rpcUrls: ['http://stand-in/ethereum'],
      id: 31337,
      confirmations: 1,
    })
    assert.deepEqual(card, { key: 'stand-in', label: 'Shop' })
  })

  test('an option that replaces a provider ends its stand-in, one that replaces a part takes that part', () => {
    assert.deepEqual(left({}, { cards: ['own'] }), without('CARD'))
    assert.equal(checked({}, { cards: ['own'] }, STAND_INS).card, undefined)
    assert.deepEqual(left({}, { voices: ['own'] }), without())
    assert.deepEqual(checked({}, { voices: ['own'] }, STAND_INS).phone, { account: 'stand-in', text: '2' })
    assert.deepEqual(left({}, { voices: ['own'], texts: ['own'] }), without('PHONE'))
  })

  test('an option that replaces another can not be set beside it', () => {
    assert.equal(
      refusal({ CARD_KEY: 'x', CARD_LABEL: 'y' }, { cards: ['own'] }),
      'market.cards: CARD_KEY and CARD_LABEL are set as well, and would not be used: remove either market.cards or CARD_KEY and CARD_LABEL',
    )
    assert.match(
      refusal({ PHONE_VOICE: '3' }, { voices: ['own'] }),
      /^market\.voices: PHONE_VOICE is set as well/,
    )
    assert.equal(refusal({ PHONE_TEXT: '3' }, { voices: ['own'] }), 'nothing is refused')
  })

  test('the final values are known by variable, wherever they are from', () => {
    const wire = market({ chains: { base: { tokens: { USDC: '0x1', DAI: '0x2' }, legacy: true } } })
    const final = variablesOf(checkOptions([wire], { ETHEREUM_RPC_URL: 'https://a,https://b' }, STAND_INS))
    const { ETHEREUM_RPC_URL, ETHEREUM_CONFIRMATIONS, BASE_TOKENS, BASE_LEGACY, CARD_KEY, BASE_ID } = final
    assert.deepEqual(
      [ETHEREUM_RPC_URL, ETHEREUM_CONFIRMATIONS, BASE_TOKENS, BASE_LEGACY, CARD_KEY, BASE_ID],
      ['https://a,https://b', '12', 'USDC=0x1,DAI=0x2', 'on', 'stand-in', undefined],
    )
  })
})

describe('a declaration that does not fit stops the start', () => {
  const options = Type.Object({
    smtp: Type.Object({ url: Type.String() }),
    chains: Type.Record(Type.String(), Type.Object({ id: Type.Integer() })),
  })
  for (const [providers, env, line] of [
    [{ smtp: { env: { SMTP_URL: 'uri' } } }, {}, 'providers.smtp: SMTP_URL: there is no option "smtp.uri"'],
    [{ mail: { env: { SMTP_URL: 'url' } } }, {}, 'providers.mail: SMTP_URL: there is no option "mail.url"'],
    [
      { 'chains.*': { env: { ID: 'id' } } },
      {},
      'providers.chains.*: ID has to begin with *_, for the name of the instance',
    ],
    [
      { 'chains.*': { env: { '*_ID': 'ids' } } },
      {},
      'providers.chains.*: *_ID: there is no option "chains.*.ids"',
    ],
    [
      { smtp: { env: { SMTP_URL: 'url' }, sharedWithSandbox: ['from'] } },
      {},
      'providers.smtp: no variable of its env is the option "from"',
    ],
    [
      { smtp: { env: { SMTP_URL: 'url' }, replacedBy: { email: ['url'] } } },
      {},
      'providers.smtp: replacedBy: there is no option "email"',
    ],
    [{ smtp: { variables: {} } }, {}, 'providers.smtp: there is no field "variables"'],
    [{ smtp: { env: [] } }, {}, "providers.smtp: env can't be this list: it takes an object of texts"],
    [{}, { SMTP_URL: 'url' }, 'env: SMTP_URL: there is no option "url"'],
    [{}, { 'smtp url': 'smtp.url' }, 'env: "smtp url" is not a name of a variable, like SMTP_URL'],
  ] as [ProviderDeclarations, Record<string, string>, string][])
    test(line, () => {
      assert.throws(() => defineWire({ name: 'shop', options, providers, env, setup }), {
        name: 'StartError',
        message: `defineWire(shop): ${line}`,
      })
    })
})

test('names of instances that can not be told apart are refused', () => {
  for (const [chains, message] of [
    [{ 'my-chain': {}, my_chain: {} }, /"my-chain" and "my_chain" would have the same variables, MY_CHAIN_…/],
    [{ Base: {} }, /"base" and "Base" would have the same variables/],
    [{ 'a.b': {} }, /"a\.b" can't be a name: it holds a dot/],
  ] as const)
    assert.throws(() => market({ chains }), { name: 'StartError', message })
})
