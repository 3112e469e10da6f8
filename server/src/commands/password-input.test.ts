import assert from 'node:assert/strict'
import { PassThrough, Readable } from 'node:stream'
import { describe, test } from 'node:test'

import { newPassword, readPassword } from './password-input.ts'

describe('a password', () => {
  test('from a pipe is its only line, to the last blank', async () => {
    for (const [input, password] of [
      ['correct horse\n', 'correct horse'],
      ['correct horse', 'correct horse'],
      [' with blanks \r\n', ' with blanks '],
      ['größe\n', 'größe'],
    ] as const)
      assert.equal(await readPassword(Readable.from([Buffer.from(input)])), password)
    for (const [input, message] of [
      ['', /^no password/],
      ['\n', /^no password/],
      ['one\ntwo\n', /is one line/],
      ['x'.repeat(5000), /at most 4096 bytes/],
      [Buffer.from([0x66, 0xff, 0x66]), /not UTF-8/],
    ] as const)
      await assert.rejects(readPassword(Readable.from([Buffer.from(input)])), { message })
  })

  /** A terminal that gets input, and its output. */
  async function type(...lines: string[]) {
    const input = Object.assign(new PassThrough(), { isTTY: true })
    const output = new PassThrough()
    let shown = ''
    output.setEncoding('utf8').on('data', (piece: string) => {
      shown += piece
      if (piece.endsWith(': ')) input.write(lines.shift()!)
    })
    const [result] = await Promise.allSettled([readPassword(input, output)])
    return { result, shown }
  }

  test('at a terminal is asked for twice, and not shown', async () => {
    const { result, shown } = await type('correct horse\r', 'correct horse\r')
    assert.deepEqual(result, { status: 'fulfilled', value: 'correct horse' })
    assert.equal(shown, 'Password: \nAgain: \n')
  })

  test('at a terminal is refused if it is typed in two ways, or with Ctrl-C', async () => {
    for (const lines of [['one password\r', 'another one\r'], ['half a pass\u0003']]) {
      const { result } = await type(...lines)
      assert.match(result.status === 'rejected' ? result.reason.message : '', /nothing was changed/)
    }
  })

  test('that is made is another one each time', () => {
    const made = new Set(Array.from({ length: 100 }, newPassword))
    assert.equal(made.size, 100)
    for (const one of made) assert.match(one, /^[\w-]{24}$/)
  })
})
