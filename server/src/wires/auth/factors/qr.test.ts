import assert from 'node:assert/strict'
import { test } from 'node:test'

import { encode } from 'uqr'

import { qrCode } from './qr.ts'

const URI =
  'otpauth://totp/Shop:ada%40example.com?issuer=Shop&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&algorithm=SHA1&digits=6&period=30'
const QUIET_ZONE = 4

/** The modules that a drawing of rectangles makes dark. */
function darkModules(path: string): Set<string> {
  const dark = new Set<string>()
  for (const [, x, y, width] of path.matchAll(/M(\d+) (\d+)h(\d+)v1H\d+z/g))
    for (let at = 0; at < Number(width); at++) dark.add(`${Number(x) + at} ${y}`)
  return dark
}

test('a QR code is drawn module by module, black on white with a quiet zone, as SVG and as text', async () => {
  const { svg, text } = await qrCode(URI, 'QR code of an account')
  const { data, size } = encode(URI, { border: QUIET_ZONE })
  const expected = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`${x} ${y}`] : [])))
  const [, ground, drawing = ''] =
    /^<svg [^>]*><title>QR code of an account<\/title><path fill="#fff" d="([^"]+)"\/><path fill="#000" d="([^"]+)"\/><\/svg>$/.exec(
      svg,
    ) ?? []
  assert.equal(ground, `M0 0h${size}v${size}H0z`)
  assert.deepEqual(darkModules(drawing), new Set(expected))
  assert.ok(
    expected.every((at) =>
      at.split(' ').every((n) => Number(n) >= QUIET_ZONE && Number(n) < size - QUIET_ZONE),
    ),
  )
  assert.match(svg, new RegExp(`^<svg [^>]*viewBox="0 0 ${size} ${size}"`))
  assert.doesNotMatch(svg, /^<svg [^>]*(width|height)=/)

  const lit = text.split('\n').flatMap((line, y) =>
    Array.from(
      line,
      (block, x) =>
        [
          [`${x} ${2 * y}`, '█▀'.includes(block)],
          [`${x} ${2 * y + 1}`, '█▄'.includes(block)],
        ] as const,
    ).flat(),
  )
  const dark = lit.filter(([at, isLit]) => !isLit && Number(at.split(' ')[1]) < size).map(([at]) => at)
  assert.deepEqual(new Set(dark), new Set(expected))
})
