// Any types and any values: a contract that answers what it gets answers what was sent.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import fc from 'fast-check'
import { encodeFunctionData, getAddress, type Abi, type AbiParameter } from 'viem'

import type { Address, Hex } from '../../../base/hex.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { anyEngine, endOfSuite } from '../../../testing/engines.ts'
import { hostileValue, tampered } from '../../../testing/hostile.ts'
import { isLongRun } from '../../../testing/long-run.ts'
import { startTestNode } from '../../../testing/node.ts'
import { startRpcProxy, type RpcProxy } from '../../../testing/rpc-proxy.ts'
import { anyText } from '../../../testing/any-text.ts'

const RUNS = isLongRun ? 3_000 : 40
/** Returns the arguments of any call. */
const ECHO: Hex = '0x600436038060045f375ff3'

/** A value as it is sent, as it is answered, and as viem takes it. */
type Sample = { sent: unknown; answered: unknown; native: unknown }
type Typed = { parameter: AbiParameter; sample: fc.Arbitrary<Sample> }

const hexOf = (size: fc.Arbitrary<number>): fc.Arbitrary<Hex> =>
  size
    .chain((length) => fc.uint8Array({ minLength: length, maxLength: length }))
    .map((bytes): Hex => `0x${Buffer.from(bytes).toString('hex')}`)
const same = (value: unknown): Sample => ({ sent: value, answered: value, native: value })

const integer = fc
  .record({ isSigned: fc.boolean(), bits: fc.integer({ min: 1, max: 32 }).map((bytes) => bytes * 8) })
  .map(({ isSigned, bits }): Typed => {
    const half = 2n ** BigInt(bits - 1)
    const [min, max] = isSigned ? [-half, half - 1n] : [0n, 2n * half - 1n]
    const value = fc.oneof(fc.constantFrom(min, max, 0n), fc.bigInt({ min, max }))
    return {
      parameter: { type: `${isSigned ? '' : 'u'}int${bits}` },
      sample: fc.tuple(value, fc.boolean()).map(([native, asNumber]) => ({
        sent: asNumber && Number.isSafeInteger(Number(native)) ? Number(native) : native.toString(),
        answered: native.toString(),
        native,
      })),
    }
  })
const bytesOf = fc.integer({ min: 1, max: 32 }).map((size): Typed => {
  return { parameter: { type: `bytes${size}` }, sample: hexOf(fc.constant(size)).map(same) }
})
const simple = fc.constantFrom<Typed>(
  { parameter: { type: 'bool' }, sample: fc.boolean().map(same) },
  { parameter: { type: 'bytes' }, sample: hexOf(fc.nat(70)).map(same) },
  {
    parameter: { type: 'string' },
    // JSON of requests takes no U+0000.
    sample: anyText({ maxLength: 40 }).map((text) => same(text.toWellFormed().replaceAll('\0', ' '))),
  },
  {
    parameter: { type: 'address' },
    sample: hexOf(fc.constant(20)).map((hex) => {
      const answered = getAddress(hex)
      return { sent: hex.includes('a') ? answered : hex, answered, native: answered }
    }),
  },
)

const listOf = (of: Typed, length: number | undefined): Typed => {
  const sizes = length === undefined ? { maxLength: 3 } : { minLength: length, maxLength: length }
  return {
    parameter: { ...of.parameter, type: `${of.parameter.type}[${length ?? ''}]` },
    sample: fc.array(of.sample, sizes).map((samples) => ({
      sent: samples.map(({ sent }) => sent),
      answered: samples.map(({ answered }) => answered),
      native: samples.map(({ native }) => native),
    })),
  }
}

const structOf = (fields: readonly Typed[], hasNames: boolean, asList: boolean): Typed => {
  const nameAt = (at: number): string => (hasNames ? `field${at}` : '')
  const members = (values: readonly unknown[]): unknown =>
    hasNames ? Object.fromEntries(values.map((value, at) => [nameAt(at), value])) : values
  return {
    parameter: {
      type: 'tuple',
      components: fields.map(({ parameter }, at) => ({ ...parameter, name: nameAt(at) })),
    },
    sample: fc.tuple(...fields.map(({ sample }) => sample)).map((samples) => ({
      sent: asList ? samples.map(({ sent }) => sent) : members(samples.map(({ sent }) => sent)),
      answered: members(samples.map(({ answered }) => answered)),
      native: members(samples.map(({ native }) => native)),
    })),
  }
}

const { typed } = fc.letrec<{ typed: Typed }>((tie) => ({
  typed: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    integer,
    simple,
    bytesOf,
    fc
      .tuple(tie('typed'), fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }))
      .map(([of, length]) => listOf(of, length)),
    fc
      .tuple(fc.array(tie('typed'), { minLength: 1, maxLength: 3 }), fc.boolean(), fc.boolean())
      .map(([fields, hasNames, asList]) => structOf(fields, hasNames, asList)),
  ),
}))

type Call = { abi: Abi; args: unknown[]; natives: unknown[]; answered: unknown[]; hasNames: boolean }

const call: fc.Arbitrary<Call> = fc
  .tuple(fc.array(typed, { minLength: 1, maxLength: 4 }), fc.boolean())
  .chain(([types, hasNames]) => {
    const parameters = types.map(({ parameter }, at) => ({ ...parameter, name: hasNames ? `arg${at}` : '' }))
    return fc.tuple(...types.map(({ sample }) => sample)).map((samples) => ({
      abi: [
        { type: 'function', name: 'f', inputs: parameters, outputs: parameters, stateMutability: 'view' },
      ],
      args: samples.map(({ sent }) => sent),
      natives: samples.map(({ native }) => native),
      answered: samples.map(({ answered }) => answered),
      hasNames,
    }))
  })

function resultOf({ answered, hasNames }: Call): string {
  const [one] = answered
  if (answered.length === 1) return typeof one === 'string' ? one : JSON.stringify(one)
  return JSON.stringify(
    hasNames ? Object.fromEntries(answered.map((value, at) => [`arg${at}`, value])) : answered,
  )
}

anyEngine((engine) => {
  describe('any call of a contract', () => {
    let proxy: RpcProxy
    let app: TestApp
    let token: string
    const address: Address = '0x00000000000000000000000000000000000ec400'
    const ending = endOfSuite()

    before(async () => {
      const node = await startTestNode(ending)
      await node.call('anvil_setCode', [address, ECHO])
      proxy = await startRpcProxy(ending, node.url)
      app = await startApp(ending, engine, {
        config: { onchain: { chains: { ethereum: { rpcUrls: [proxy.url] } } } },
      })
      ;({ key: token } = await app.app.service('auth').keys.create('calls', ['onchain']))
    })

    const read = (body: object) =>
      app.request('POST', '/onchain/contracts/read', { token, body: { address, method: 'f', ...body } })

    test('sends what viem would, and answers what was sent', async () => {
      await fc.assert(
        fc.asyncProperty(call, async (one) => {
          proxy.forget()
          const { status, body, text } = await read({ abi: one.abi, args: one.args })
          assert.equal(status, 200, text)
          const data = encodeFunctionData({ abi: one.abi, functionName: 'f', args: one.natives })
          const [request] = proxy.log.at(-1)!.params as [{ data: Hex }]
          assert.equal(request.data, data)
          assert.equal(body.result, resultOf(one))
        }),
        { numRuns: RUNS, endOnFailure: true },
      )
    })

    // Mostly small words: offsets and lengths that point somewhere.
    const word = fc.oneof(
      { weight: 4, arbitrary: fc.nat(12).map((at) => (at * 32).toString(16).padStart(64, '0')) },
      { weight: 2, arbitrary: fc.nat(3).map((small) => small.toString(16).padStart(64, '0')) },
      { weight: 1, arbitrary: hexOf(fc.constant(32)).map((hex) => hex.slice(2)) },
      { weight: 1, arbitrary: fc.constant('f'.repeat(64)) },
    )
    const answer = fc.tuple(fc.array(word, { maxLength: 20 }), hexOf(fc.nat(40))).map(
      // Sometimes it does not end with a whole word.
      ([words, rest]) => `0x${words.join('')}${rest.length % 4 === 0 ? rest.slice(2) : ''}`,
    )

    test('whatever the contract answers, is answered or refused', async () => {
      await fc.assert(
        fc.asyncProperty(call, answer, async (one, data) => {
          const heal = proxy.fault({ method: 'eth_call', lie: () => data })
          const { status, text } = await read({ abi: one.abi, args: one.args })
          heal()
          assert.ok(status === 200 || status === 400, `${status} ${text}`)
        }),
        { numRuns: RUNS, endOnFailure: true },
      )
    })

    test('whatever stands in the ABI and the arguments, is called or refused', async () => {
      const bodies = call.map(({ abi, args }): unknown => ({ abi, args }))
      const hostile = fc.oneof(
        { weight: 4, arbitrary: tampered(bodies) },
        { weight: 1, arbitrary: fc.record({ abi: fc.array(hostileValue), args: fc.array(hostileValue) }) },
      )
      await fc.assert(
        fc.asyncProperty(hostile, async (body) => {
          const { status, text } = await read(body as object)
          assert.ok([200, 400, 413, 422].includes(status), `${status} ${text}`)
        }),
        { numRuns: RUNS * 3, endOnFailure: true },
      )
    })
  })
})
