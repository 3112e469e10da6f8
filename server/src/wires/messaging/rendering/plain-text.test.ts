import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { plainText } from './plain-text.ts'

describe('HTML as plain text', () => {
  for (const [html, text] of [
    ['', ''],
    ['just words', 'just words'],
    ['<p>One\n  two</p><p>three</p>', 'One two\n\nthree'],
    ['<h1>Title</h1>\n\n<p>Words</p>', 'Title\n\nWords'],
    ['a<br>b<br/>c', 'a\nb\nc'],
    ['a<br><br>b', 'a\n\nb'],
    ['<div>a</div><div>b</div>', 'a\nb'],
    ['<ul>\n <li>a</li>\n <li>b</li>\n</ul>', '- a\n- b'],
    ['<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>', 'a b\nc'],
    ['a<hr>b', 'a\n\n--\n\nb'],
    ['<b>bo</b>ld <i>it</i>', 'bold it'],
    [
      'See <a href="https://x.example/?a=1&amp;b=2">the page</a>.',
      'See the page <https://x.example/?a=1&b=2>.',
    ],
    ["<a href='https://x.example'>https://x.example</a>", 'https://x.example'],
    ['<a href="mailto:a@x.example">a@x.example</a>', 'a@x.example'],
    ['<a href=https://x.example><img src="y" alt="Logo"></a>', 'Logo <https://x.example>'],
    ['<a href="https://x.example"></a>', 'https://x.example'],
    ['<a href="#top">up</a> <a href="javascript:alert(1)">x</a> <a name="y">y</a>', 'up x y'],
    ['<a href="https://x.example">no end', 'no end <https://x.example>'],
    ['&lt;b&gt; &amp;amp; &quot;&#39;&#x41;&#65;&nbsp;&hellip;', '<b> &amp; "\'AA\u00a0…'],
    ['&unknown; & &#0; &#xd800; &#99999999;', '&unknown; & \ufffd \ufffd \ufffd'],
    ['<head><title>no</title></head><style>p{}</style><script>a<b</script>yes', 'yes'],
    ['<p style="display:none">no <span>no</span></p><p hidden>no</p>yes', 'yes'],
    ['<div style="display: none"><div>no</div>no</div>yes', 'yes'],
    ['<!-- no <b> --><!doctype html>yes', 'yes'],
    ['1 < 2 and 3 > 2 <- <3', '1 < 2 and 3 > 2 <- <3'],
    ['<p title="a > b">yes</p>', 'yes'],
    ['yes<p title="no', 'yes'],
    ['yes<!-- no', 'yes'],
    ['</p></a></nothing>yes', 'yes'],
  ] as const)
    test(JSON.stringify(html), async () => {
      assert.equal(await plainText(html), text)
    })

  test('is what was escaped, whatever it is', () => {
    const escape = (plain: string) => plain.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
    const words = fc.string({ unit: fc.constantFrom(...'<>&"\'abc;#/=!-'.split('')) })
    return fc.assert(
      fc.asyncProperty(words, async (plain) =>
        assert.equal(await plainText(`<p>${escape(plain)}</p>`), plain),
      ),
    )
  })

  test('is made of anything', () => {
    const pieces = fc.constantFrom(
      '<',
      '>',
      '"',
      "'",
      '<a href="',
      '<!--',
      '-->',
      '</',
      'p',
      '<style>',
      '&',
      '#x',
      ';',
      ' ',
    )
    return fc.assert(
      fc.asyncProperty(fc.array(pieces), async (parts) => void (await plainText(parts.join('')))),
    )
  })

  for (const piece of [
    '<a ',
    '<',
    '&',
    '<p>x</p>',
    '<a href="http://x">y</a>',
    '<!--',
    '<div style="display:none">',
    '<a "',
    '<b',
    ' \n',
  ])
    test(`takes no more than its length in time: ${piece}`, async () => {
      // Were it the square of it, this would be minutes.
      await plainText(piece.repeat(1_000_000 / piece.length))
    })
})
