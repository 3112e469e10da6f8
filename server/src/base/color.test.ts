import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { contrastOf, paletteOf, textOn } from './color.ts'

test('whatever the colour is, texts of a page can be read', () => {
  const color = fc.integer({ min: 0, max: 0xff_ff_ff }).map((one) => `#${one.toString(16).padStart(6, '0')}`)
  fc.assert(
    fc.property(color, (one) => {
      const { accent, fill, tint } = paletteOf(one)
      const isReadable = (a: string, b: string): void => assert.ok(contrastOf(a, b) >= 4.5, `${a} on ${b}`)
      isReadable(textOn(one), one)
      isReadable('#ffffff', fill[0])
      for (const at of [0, 1] as const) isReadable(accent[at], tint[at])
      isReadable(accent[0], '#f5f6fb')
      isReadable(accent[1], '#1c212b')
    }),
  )
  assert.equal(contrastOf('#000000', '#ffffff'), 21)
  assert.equal(paletteOf('#3b4cf0').fill[0], '#3b4cf0')
})
