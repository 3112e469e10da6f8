import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import {
  amountFault,
  exponentOf,
  formatAmount,
  formatUnits,
  ISO_4217,
  LARGEST_AMOUNT,
  LARGEST_UNITS,
  parseAmount,
  parseUnits,
  unitsFault,
} from './money.ts'

const AMOUNTS = [
  ['12.30', 'EUR', 1230n],
  ['0', 'EUR', 0n],
  ['0.01', 'USD', 1n],
  ['1', 'USD', 100n],
  ['1.5', 'USD', 150n],
  ['1500', 'JPY', 1500n],
  ['0.001', 'KWD', 1n],
  ['10.25', 'KWD', 10250n],
  ['1.0001', 'CLF', 10001n],
  // No double holds these.
  ['0.29', 'EUR', 29n],
  ['90071992547409.93', 'EUR', 9_007_199_254_740_993n],
  ['92233720368547758.07', 'EUR', LARGEST_AMOUNT],
  ['9223372036854775807', 'JPY', LARGEST_AMOUNT],
] as const

const REFUSED = [
  ['12.301', 'EUR', 'has too many decimal places: EUR has 2'],
  ['12.300', 'EUR', 'has too many decimal places: EUR has 2'],
  ['12.0', 'JPY', 'has too many decimal places: JPY has none'],
  ['0.0001', 'BHD', 'has too many decimal places: BHD has 3'],
  ['92233720368547758.08', 'EUR', 'must be at most 92233720368547758.07'],
  ['9'.repeat(150), 'EUR', 'must be at most 92233720368547758.07'],
  ['1', 'XYZ', 'is in a currency that is not known: "XYZ"'],
  ['1', 'eur', 'is in a currency that is not known: "eur"'],
  ['1', 'XAU', 'is in a currency that is not known: "XAU"'],
  ['1', 'toString', 'is in a currency that is not known: "toString"'],
] as const

const NOT_DECIMAL = [
  '- +1 -1 −1 -0 1e3 1E3 1e-2 0x10 0b1 1n 1_000 1,5 1,000.00 1.000.00 .5 5. . 1.2.3 007 00 01.50'.split(' '),
  'NaN Infinity one €1 1€ 1% ½ ²'.split(' '),
  // Digits of other scripts, and full-width ones.
  '١٢ १२ १.5 １２ 1２'.split(' '),
  ['', ' ', '1 ', ' 1', '1\n', '\t1', '1 000', '1\u00a0000', '\u00001', '1\u200b', '9'.repeat(161)],
].flat()

describe('an amount of money', () => {
  for (const [text, currency, amount] of AMOUNTS)
    test(`${text} ${currency} is ${amount} minor units`, () => {
      assert.equal(parseAmount(text, currency), amount)
      assert.equal(amountFault(text, currency), undefined)
      assert.equal(parseAmount(formatAmount(amount, currency), currency), amount)
    })

  for (const [text, currency, fault] of REFUSED)
    test(`${text.slice(0, 30)} ${currency} ${fault}`, () => {
      assert.equal(amountFault(text, currency), fault)
      assert.throws(() => parseAmount(text, currency), { name: 'RangeError', message: `the amount ${fault}` })
    })

  for (const text of NOT_DECIMAL)
    test(`${JSON.stringify(text.slice(0, 30))} is no decimal number`, () => {
      assert.match(amountFault(text, 'EUR')!, /^must be a decimal number/)
      assert.match(unitsFault(text, 18)!, /^must be a decimal number/)
      assert.throws(() => parseAmount(text, 'EUR'), RangeError)
      assert.throws(() => parseUnits(text, 18), RangeError)
    })

  test('is written with all decimal places of its currency', () => {
    assert.equal(formatAmount(1230n, 'EUR'), '12.30')
    assert.equal(formatAmount(0n, 'EUR'), '0.00')
    assert.equal(formatAmount(5n, 'EUR'), '0.05')
    assert.equal(formatAmount(1500n, 'JPY'), '1500')
    assert.equal(formatAmount(1n, 'KWD'), '0.001')
    assert.equal(formatAmount(123456n, 'UYW'), '12.3456')
    for (const amount of [-1n, LARGEST_AMOUNT + 1n])
      assert.throws(() => formatAmount(amount, 'EUR'), RangeError)
    assert.throws(() => formatAmount(1n, 'XYZ'), RangeError)
  })

  test('has the decimal places of a provider where these differ', () => {
    const provider = { ISK: 2, HUF: 0 }
    assert.equal(parseAmount('12.50', 'ISK', provider), 1250n)
    assert.equal(formatAmount(1250n, 'ISK', provider), '12.50')
    assert.equal(amountFault('12.50', 'HUF', provider), 'has too many decimal places: HUF has none')
    assert.equal(amountFault('12.50', 'EUR', provider), 'is in a currency that is not known: "EUR"')
  })

  test('property: is read as it was written, in every currency', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.keys(ISO_4217)),
        fc.bigInt({ min: 0n, max: LARGEST_AMOUNT }),
        (currency, amount) => {
          const text = formatAmount(amount, currency)
          assert.equal(parseAmount(text, currency), amount)
          assert.equal(text.split('.')[1]?.length ?? 0, exponentOf(currency))
        },
      ),
    )
  })

  test('property: sums and order are those of the texts', () => {
    const cents = fc.bigInt({ min: 0n, max: LARGEST_AMOUNT / 2n })
    fc.assert(
      fc.property(cents, cents, (a, b) => {
        const [first, second] = [formatAmount(a, 'EUR'), formatAmount(b, 'EUR')]
        const sum = parseAmount(first, 'EUR') + parseAmount(second, 'EUR')
        assert.equal(formatAmount(sum, 'EUR'), formatAmount(a + b, 'EUR'))
        assert.equal(parseAmount(first, 'EUR') < parseAmount(second, 'EUR'), a < b)
      }),
    )
  })
})

describe('an amount of a token', () => {
  for (const [text, decimals, units] of [
    ['1.5', 18, 1_500_000_000_000_000_000n],
    ['0.000000000000000001', 18, 1n],
    ['1', 0, 1n],
    ['1.5', 6, 1_500_000n],
    [LARGEST_UNITS.toString(), 0, LARGEST_UNITS],
    ['1.15792089237316195423570985008687907853269984665640564039457584007913129639935', 77, LARGEST_UNITS],
  ] as const)
    test(`${text} with ${decimals} decimals`, () => {
      assert.equal(parseUnits(text, decimals), units)
      assert.equal(formatUnits(units, decimals), text)
    })

  test('is written without zeros at the end', () => {
    assert.equal(formatUnits(0n, 18), '0')
    assert.equal(formatUnits(10n ** 18n, 18), '1')
    assert.equal(formatUnits(100n, 0), '100')
    assert.equal(formatUnits(1_000_100n, 4), '100.01')
  })

  test('fits 256 bits', () => {
    assert.match(unitsFault((LARGEST_UNITS + 1n).toString(), 0)!, /^must be at most 1157/)
    assert.throws(() => parseUnits('2', 77), RangeError)
    assert.throws(() => formatUnits(LARGEST_UNITS + 1n, 18), RangeError)
    assert.throws(() => formatUnits(-1n, 18), RangeError)
    assert.equal(unitsFault('0.5', 0), 'has too many decimal places: this token has none')
  })

  for (const decimals of [-1, 78, 1.5, Number.NaN, Infinity])
    test(`has no ${decimals} decimals`, () => {
      assert.throws(() => parseUnits('1', decimals), RangeError)
      assert.throws(() => formatUnits(1n, decimals), RangeError)
    })

  test('property: is read as it was written, with any decimals', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 77 }),
        fc.bigInt({ min: 0n, max: LARGEST_UNITS }),
        (decimals, units) => assert.equal(parseUnits(formatUnits(units, decimals), decimals), units),
      ),
    )
  })

  test('property: a text that is taken is written again as it was, but for zeros at the end', () => {
    const digits = fc.string({ unit: fc.constantFrom(...'0123456789.'.split('')), maxLength: 30 })
    fc.assert(
      fc.property(digits, fc.integer({ min: 0, max: 77 }), (text, decimals) => {
        if (unitsFault(text, decimals) !== undefined) return
        const bare = text.includes('.') ? text.replace(/\.?0+$/, '') : text
        assert.equal(formatUnits(parseUnits(text, decimals), decimals), bare)
      }),
      { numRuns: 1000 },
    )
  })
})

test('the table holds every currency of ISO 4217 with minor units once', () => {
  const codes = Object.keys(ISO_4217)
  assert.equal(codes.length, 17 + 139 + 7 + 2)
  for (const code of codes) assert.match(code, /^[A-Z]{3}$/)
  const count = (exponent: number) => codes.filter((code) => exponentOf(code) === exponent).length
  assert.deepEqual([0, 1, 2, 3, 4].map(count), [17, 0, 139, 7, 2])
})
