import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { encodeErrorResult, parseAbi, type Abi } from 'viem'

import type { Hex } from '../../../base/hex.ts'
import type { RpcFault } from './rpc.ts'
import { revertOf } from './revert-reason.ts'

const SOMEBODY = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const ABI = parseAbi([
  'struct Offer { uint256 price; bool isOpen }',
  'error TooEarly(uint64 opensAt, string why)',
  'error Unnamed(uint256, address)',
  'error WrongOffer(Offer offer, uint8[] codes)',
  'error Closed()',
])
const SOLIDITY = parseAbi(['error Error(string)', 'error Panic(uint256)'])
const STANDARD = parseAbi([
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error OwnableUnauthorizedAccount(address account)',
])

const dataOf = (abi: Abi, errorName: string, args: readonly unknown[] = []): Hex =>
  encodeErrorResult({ abi, errorName, args })

const reverted = (data?: Hex): RpcFault => ({ code: 3, message: 'execution reverted', ...(data && { data }) })

const detailsOf = (fault: RpcFault, abi?: Abi) => {
  const error = revertOf(fault, abi)
  assert.equal(error?.code, 'CONTRACT_REVERTED', JSON.stringify(fault))
  assert.equal(error.status, 422)
  assert.doesNotMatch(error.message, /\n/)
  return error.details
}

describe('the reason of a revert', () => {
  const decoded: [what: string, data: Hex | undefined, details: object][] = [
    ['a text', dataOf(SOLIDITY, 'Error', ['not yours']), { reason: 'not yours' }],
    ['an empty text', dataOf(SOLIDITY, 'Error', ['']), { reason: 'no reason given' }],
    ['two lines', dataOf(SOLIDITY, 'Error', ['one\r\ntwo']), { reason: 'one two' }],
    [
      'a panic',
      dataOf(SOLIDITY, 'Panic', [0x11n]),
      { reason: 'an arithmetic operation overflowed (panic 0x11)' },
    ],
    ['an unknown panic', dataOf(SOLIDITY, 'Panic', [0x99n]), { reason: 'a panic (panic 0x99)' }],
    [
      'an error by name',
      dataOf(ABI, 'TooEarly', [12n, 'opens at noon']),
      {
        reason: 'TooEarly(12, opens at noon)',
        error: 'TooEarly',
        args: { opensAt: '12', why: 'opens at noon' },
      },
    ],
    [
      'arguments without names',
      dataOf(ABI, 'Unnamed', [5n, SOMEBODY]),
      { reason: `Unnamed(5, ${SOMEBODY})`, error: 'Unnamed', args: ['5', SOMEBODY] },
    ],
    [
      'structs and lists',
      dataOf(ABI, 'WrongOffer', [{ price: 7n, isOpen: true }, [1, 2]]),
      {
        reason: 'WrongOffer({"price":"7","isOpen":true}, ["1","2"])',
        error: 'WrongOffer',
        args: { offer: { price: '7', isOpen: true }, codes: ['1', '2'] },
      },
    ],
    ['an error without arguments', dataOf(ABI, 'Closed'), { reason: 'Closed()', error: 'Closed', args: [] }],
    [
      'a standard error that the ABI lacks',
      dataOf(STANDARD, 'ERC20InsufficientBalance', [SOMEBODY, 1n, 2n]),
      {
        reason: `ERC20InsufficientBalance(${SOMEBODY}, 1, 2)`,
        error: 'ERC20InsufficientBalance',
        args: { sender: SOMEBODY, balance: '1', needed: '2' },
      },
    ],
    [
      'the owner only',
      dataOf(STANDARD, 'OwnableUnauthorizedAccount', [SOMEBODY]),
      {
        reason: `OwnableUnauthorizedAccount(${SOMEBODY})`,
        error: 'OwnableUnauthorizedAccount',
        args: { account: SOMEBODY },
      },
    ],
    [
      'an unknown error',
      '0xdeadbeef00',
      { reason: 'an error that its ABI does not have (0xdeadbeef)', selector: '0xdeadbeef' },
    ],
    [
      'a text that is cut short',
      '0x08c379a0ffff',
      { reason: 'an error that its ABI does not have (0x08c379a0)', selector: '0x08c379a0' },
    ],
    ['nothing', undefined, { reason: 'no reason given' }],
    ['no bytes', '0x', { reason: 'no reason given' }],
  ]
  for (const [what, data, details] of decoded)
    test(what, () => assert.deepEqual(detailsOf(reverted(data), ABI), details))

  test('a text of a megabyte is cut', () => {
    const details = detailsOf(reverted(dataOf(SOLIDITY, 'Error', ['x'.repeat(1_048_576)])))
    assert.deepEqual(details?.['selector'], '0x08c379a0')
    const { reason } = detailsOf(reverted(dataOf(SOLIDITY, 'Error', ['y'.repeat(4_000)])))!
    assert.equal(String(reason).length, 300)
  })
})

describe('the errors of nodes', () => {
  const text = dataOf(SOLIDITY, 'Error', ['not yours'])
  const reverts: [node: string, fault: RpcFault, reason: string][] = [
    ['geth', { code: 3, message: 'execution reverted: not yours', data: text }, 'not yours'],
    ['geth without data', { code: -32_000, message: 'execution reverted' }, 'no reason given'],
    ['erigon', { code: 3, message: 'execution reverted', data: text }, 'not yours'],
    ['nethermind', { code: -32_015, message: 'VM execution error.', data: text }, 'not yours'],
    [
      'a node that says it in words',
      { code: -32_603, message: 'execution reverted: not yours' },
      'not yours',
    ],
    [
      'hardhat',
      {
        code: -32_603,
        message: "VM Exception while processing transaction: reverted with reason string 'not yours'",
      },
      'not yours',
    ],
    ['an invalid opcode', { code: -32_000, message: 'invalid opcode: INVALID' }, 'invalid opcode: INVALID'],
    [
      'all gas of a block',
      { code: -32_000, message: 'gas required exceeds allowance (30000000)' },
      'gas required exceeds allowance (30000000)',
    ],
  ]
  for (const [node, fault, reason] of reverts)
    test(node, () => assert.deepEqual(detailsOf(fault), { reason }))

  test('what is no revert is left to the caller', () => {
    for (const message of [
      'insufficient funds for gas * price + value',
      'header not found',
      'execution aborted (timeout = 5s)',
      'the method eth_estimateGas does not exist',
    ])
      assert.equal(revertOf({ code: -32_000, message, data: '0xdeadbeef' }), undefined, message)
  })
})
