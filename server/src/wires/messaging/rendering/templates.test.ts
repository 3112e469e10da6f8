import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import fc from 'fast-check'

import type { ApiError, Issue } from '../../../base/errors.ts'
import { temporaryFolder } from '../../../testing/engines.ts'
import { createTemplates, type Templates } from './templates.ts'
import { anyText } from '../../../testing/any-text.ts'

const APP = { app: 'Shop & Co', appUrl: 'https://shop.example', color: '#1d4ed8' }
const LINK = 'https://shop.example/verify?token=a-b_c&next=%2F'

/** What auth gives each built-in template; optional values are in brackets. */
const BUILT_IN: Record<string, { needs: string[]; may: string[] }> = {
  'address-change-requested': { needs: ['when'], may: ['name'] },
  'address-changed': { needs: ['when', 'until', 'link'], may: ['name'] },
  'address-restored': { needs: ['when'], may: ['name'] },
  'address-set': { needs: ['when'], may: ['name'] },
  'change-address': { needs: ['link'], may: [] },
  'factor-added': { needs: ['factor', 'when'], may: ['name'] },
  'factor-removed': { needs: ['factor', 'when'], may: ['name'] },
  'factors-removed': { needs: ['when'], may: ['name'] },
  impersonated: { needs: ['when'], may: ['name'] },
  invitation: { needs: ['link'], may: ['name'] },
  'magic-link': { needs: ['link'], may: [] },
  'new-device': { needs: ['when', 'device'], may: ['name', 'ip'] },
  'new-sign-in': { needs: ['provider', 'when'], may: ['name', 'ip'] },
  'password-changed': { needs: ['when'], may: ['name'] },
  'phone-changed': { needs: ['when'], may: ['name', 'number'] },
  'recovery-code-used': { needs: ['when', 'left'], may: ['name'] },
  'reset-password': { needs: ['link'], may: ['name'] },
  'second-factor-due': { needs: ['due'], may: ['name'] },
  'verify-email': { needs: ['link'], may: ['name'] },
}
const NAMES = Object.keys(BUILT_IN)

const values = (names: string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, name === 'link' ? LINK : `the ${name}`]))

/** Templates of an application that has these files. */
async function withFiles(t: TestContext, files: Record<string, string>): Promise<Templates> {
  const folder = await temporaryFolder(t)
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), text)
  }
  return createTemplates({ folder, ...APP })
}

const letter = (body: string, subject = 'Hello'): string => `---\nsubject: ${subject}\n---\n${body}`
const bare = { 'layout.html': '{{{content}}}' }
const builtIn = createTemplates({ folder: '/nowhere', ...APP })

async function issuesOf(rendering: Promise<unknown>): Promise<Issue[]> {
  const error = (await rendering.then(
    () => assert.fail('it was rendered'),
    (thrown: unknown) => thrown,
  )) as ApiError
  assert.equal(error.code, 'VALIDATION_ERROR', String(error))
  return error.details!['issues'] as Issue[]
}

describe('what would take too long, or make too long a mail, is refused where it stands in the data', () => {
  const many = (count: number): number[] => Array.from({ length: count }, () => 1)
  const template = (t: TestContext, body: string) => withFiles(t, { ...bare, 'a.html': letter(body) })

  test('a section over half a million values that shows nothing', async (t) => {
    const templates = await template(t, '{{#list}}{{/list}}')
    const [issue, ...more] = await issuesOf(templates.render('a', { list: many(500_000) }))
    assert.deepEqual([issue!.path, more.length], ['/body/data/list', 0])
    assert.match(issue!.message, /more than 10000 times/)
    await templates.render('a', { list: many(10_000) })
  })

  test('sections within one another', async (t) => {
    const templates = await template(t, '{{#list}}{{#inner.list}}{{#list}}{{/list}}{{/inner.list}}{{/list}}')
    const list = many(100)
    const [issue] = await issuesOf(templates.render('a', { list, inner: { list } }))
    assert.match(issue!.message, /more than 10000 times/)
    await templates.render('a', { list: many(20), inner: { list: many(20) } })
  })

  test('text of the template that is repeated', async (t) => {
    const templates = await template(t, `{{#list}}${'x'.repeat(500)}{{/list}}`)
    const [issue] = await issuesOf(templates.render('a', { list: many(9000) }))
    assert.match(issue!.path, /^\/body\/data\/list\/\d+$/)
    assert.match(issue!.message, /characters/)
  })
})

describe('a built-in template', () => {
  test('is there without a folder', async () => {
    assert.deepEqual(await builtIn.names(), NAMES)
  })

  for (const [name, { needs, may }] of Object.entries(BUILT_IN)) {
    test(`${name} shows all that it is given`, async () => {
      const { subject, html, text } = await builtIn.render(name, values([...needs, ...may]))
      assert.match(subject, /Shop & Co/)
      for (const [key, value] of Object.entries(values([...needs, ...may]))) {
        assert.ok(text.includes(value), `${key} in ${text}`)
        assert.ok(html.includes(value.replaceAll('&', '&amp;')), `${key} in ${html}`)
      }
      assert.match(html, /^<!doctype html>/)
      assert.ok(html.includes(`<title>${subject.replace('&', '&amp;')}</title>`))
      assert.doesNotMatch(html + text, /\{\{|\}\}|undefined|\[object/)
    })

    test(`${name} does without ${may.join(' and ') || 'anything more'}`, async () => {
      const { text } = await builtIn.render(name, values(needs))
      assert.match(text, /^Hello,$/m)
      assert.doesNotMatch(text, /From:/)
    })

    test(`${name} needs ${needs.join(' and ')}`, async () => {
      assert.deepEqual(
        (await issuesOf(builtIn.render(name, {}))).map(({ path }) => path),
        needs.map((need) => `/body/data/${need}`),
      )
    })

    test(`${name} takes nothing from outside, and is made for light and dark`, async () => {
      const { html } = await builtIn.render(name, values([...needs, ...may]))
      assert.doesNotMatch(html, /\ssrc=|url\(|@import|<(link|script|img|iframe|form)\b/i)
      assert.match(html, /<meta name="color-scheme" content="light dark"/)
      for (const [, href] of html.matchAll(/href="([^"]*)"/g)) assert.match(href!, /^https:\/\/shop\.example/)
    })
  }
})

describe('the mail of a link to sign in', () => {
  test('shows the code in two groups, if it has one', async () => {
    const code = { digits: '012345', first: '012', last: '345' }
    const { text } = await builtIn.render('magic-link', { link: LINK, code })
    assert.match(text, /^012 345$/m)
    assert.doesNotMatch((await builtIn.render('magic-link', { link: LINK })).text, /code/)
  })
})

describe('the template of a text message', () => {
  const values = { code: '012345', host: 'shop.example' }

  test('ends with the line by which browsers fill the code in on this host only, unescaped', async () => {
    assert.deepEqual(await builtIn.textNames(), ['sign-in-code'])
    assert.equal(
      await builtIn.renderText('sign-in-code', values),
      '012345 is your code for Shop & Co. Nobody at Shop & Co asks you for it.\n\n@shop.example #012345',
    )
  })

  test('is a .txt file without the .html of a mail, and the one of the application stands first', async (t) => {
    const templates = await withFiles(t, {
      'sign-in-code.txt': '{{code}} opens {{app}}\n\n@{{host}} #{{code}}\n',
      'ready.txt': 'Order {{number}} is ready',
      'order.txt': 'the text of a mail',
      'order.html': letter('x'),
    })
    assert.deepEqual(await templates.textNames(), ['ready', 'sign-in-code'])
    assert.equal(
      await templates.renderText('sign-in-code', values),
      '012345 opens Shop & Co\n\n@shop.example #012345',
    )
  })

  test('needs its values and a name', async () => {
    assert.deepEqual(
      (await issuesOf(builtIn.renderText('sign-in-code', { code: '1' }))).map(({ path }) => path),
      ['/body/data/host'],
    )
    for (const name of ['none', '../templates/sign-in-code', 'sign-in-code\0']) {
      const [issue] = await issuesOf(builtIn.renderText(name, values))
      assert.equal(issue!.path, '/body/template')
      assert.match(issue!.message, /the templates are sign-in-code\.$/)
    }
  })
})

describe("an application's folder", () => {
  test('stands before the built-in ones, file by file', async (t) => {
    const templates = await withFiles(t, {
      'magic-link.html': letter('<p>Come in: {{link}}</p>', 'Come in, {{app}} is open'),
      'order.html': letter('<p>Order {{number}}</p>'),
      'order.txt': 'The order {{number}} & more\n',
      'verify-email.txt': 'Only the text: {{link}}',
    })
    assert.deepEqual(await templates.names(), [...NAMES, 'order'].toSorted())
    const own = await templates.render('magic-link', { link: 'x' })
    assert.equal(own.subject, 'Come in, Shop & Co is open')
    assert.match(own.html, /<!doctype html>[\s\S]*<p>Come in: x<\/p>/)
    assert.equal((await templates.render('order', { number: 7 })).text, 'The order 7 & more\n')
    const mixed = await templates.render('verify-email', { link: 'x' })
    assert.equal(mixed.text, 'Only the text: x')
    assert.match(mixed.html, /Confirm my address/)
    assert.match((await templates.render('reset-password', { link: 'x' })).html, /Choose a new password/)
  })

  test('may have a layout of its own', async (t) => {
    const templates = await withFiles(t, {
      'layout.html': '<title>{{subject}}</title><b>{{app}}</b>{{{content}}}<i>{{appUrl}}</i>',
      'a.html': letter('<p>{{x}}</p>', 'S {{x}}'),
    })
    const { html } = await templates.render('a', { x: '<', content: 'not this', subject: 'nor this' })
    assert.equal(html, '<title>S &lt;</title><b>Shop &amp; Co</b><p>&lt;</p><i>https://shop.example</i>')
  })

  test('shows a change at once', async (t) => {
    const folder = await temporaryFolder(t)
    const templates = createTemplates({ folder, ...APP })
    await writeFile(join(folder, 'a.html'), letter('one'))
    assert.match((await templates.render('a', {})).html, /one/)
    await writeFile(join(folder, 'a.html'), letter('two'))
    assert.match((await templates.render('a', {})).html, /two/)
  })

  test('has other files that are no templates', async (t) => {
    const templates = await withFiles(t, {
      'README.md': '',
      'Upper.html': letter('x'),
      'a.b.html': letter('x'),
      'deep/er.html': letter('x'),
      'only.txt': 'x',
      ...bare,
    })
    assert.deepEqual(await templates.names(), NAMES)
    assert.equal((await issuesOf(templates.render('only', {})))[0]?.path, '/body/template')
  })
})

describe('a name', () => {
  for (const name of [
    'nope',
    'layout',
    '',
    '.',
    '..',
    '../templates/magic-link',
    'magic-link.html',
    'magic-link\0',
    'magic-link\n',
    '/etc/passwd',
    '..%2fmagic-link',
    'Magic-Link',
    'constructor',
    '__proto__',
    'a'.repeat(5000),
  ])
    test(`${JSON.stringify(name.slice(0, 30))} is no template, and the answer names those there are`, async () => {
      const [issue, ...more] = await issuesOf(builtIn.render(name, {}))
      assert.deepEqual(more, [])
      assert.equal(issue?.path, '/body/template')
      assert.ok(issue.message.endsWith(`the templates are ${NAMES.join(', ')}.`))
      assert.ok(issue.message.length < 400)
    })

  test('that is wrong is told of beside the place of the data', async () => {
    assert.equal(
      (await issuesOf(builtIn.render('nope', {}, { at: '/mail/0/data' })))[0]?.path,
      '/mail/0/template',
    )
  })
})

describe('a value', () => {
  const render = async (t: TestContext, body: string, data: Record<string, unknown>) =>
    (await withFiles(t, { 'a.html': letter(body), ...bare })).render('a', data)

  for (const [body, data, html] of [
    ['{{x}}', { x: 'a' }, 'a'],
    ['{{x}}', { x: 0 }, '0'],
    ['{{x}}', { x: false }, 'false'],
    ['{{x}}', { x: '' }, ''],
    ['{{ x.y.z }}', { x: { y: { z: 1 } } }, '1'],
    ['{{#x}}yes{{/x}}{{^x}}no{{/x}}', {}, 'no'],
    ['{{#x}}yes{{/x}}{{^x}}no{{/x}}', { x: null }, 'no'],
    ['{{#x}}yes{{/x}}{{^x}}no{{/x}}', { x: [] }, 'no'],
    ['{{#x}}yes{{/x}}{{^x}}no{{/x}}', { x: true }, 'yes'],
    ['{{#x.y}}yes{{/x.y}}', {}, ''],
    ['{{#x}}<{{x}}>{{/x}}', { x: 'a' }, '<a>'],
    ['{{#x}}{{.}},{{/x}}', { x: ['a', 1, '<'] }, 'a,1,&lt;,'],
    ['{{#x}}{{n}}{{out}};{{/x}}', { x: [{ n: 1 }, { n: 2, out: 'in' }], out: 'o' }, '1o;2in;'],
    ['{{#x}}{{#y}}{{n}}{{/y}}{{/x}}', { x: { y: { n: 1 } }, n: 2 }, '1'],
    ['{{! a comment }}{{#x}}\n{{y}}\n{{/x}}\n', { x: { y: 1 } }, '1\n'],
    ['{{{x}}}{{&x}}', { x: '<b>' }, '<b><b>'],
    ['{{x}}', { x: '{{y}}', y: 1 }, '{{y}}'],
    ['{{=<% %>=}}<%x%>{{x}}', { x: 1 }, '1{{x}}'],
    ['{{app}}', { app: 'mine' }, 'mine'],
  ] as [string, Record<string, unknown>, string][])
    test(`${JSON.stringify(data)} in ${JSON.stringify(body)}`, async (t) => {
      assert.equal((await render(t, body, data)).html, html)
    })

  for (const [body, data, path] of [
    ['{{x}}', {}, '/x'],
    ['{{x}}', { x: null }, '/x'],
    ['{{x}}', { x: undefined }, '/x'],
    ['{{x}}', { x: { y: 1 } }, '/x'],
    ['{{x}}', { x: [1] }, '/x'],
    ['{{x}}', { x: () => 'run' }, '/x'],
    ['{{#x}}a{{/x}}', { x: () => 'run' }, '/x'],
    ['{{^x}}a{{/x}}', { x: () => 'run' }, '/x'],
    ['{{x.y}}', { x: { y: () => 'run' } }, '/x/y'],
    ['{{{x}}}', {}, '/x'],
    ['{{&x}}', {}, '/x'],
    ['{{x.y}}', { x: {} }, '/x/y'],
    ['{{x.y}}', { x: 'text' }, '/x/y'],
    ['{{x.length}}', { x: 'text' }, '/x/length'],
    ['{{#x}}{{y}}{{/x}}', { x: [{ y: 1 }, {}] }, '/x/1/y'],
    ['{{#x}}{{y}}{{/x}}', { x: true }, '/y'],
    ['{{#x}}{{.}}{{/x}}', { x: [{}] }, '/x/0'],
    ['{{a/b~c}}', {}, '/a~1b~0c'],
    ['{{x}}', Object.create({ x: 1 }) as object, '/x'],
    ...['constructor', '__proto__', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'].flatMap(
      (name): [string, object, string][] => [
        [`{{${name}}}`, {}, `/${name}`],
        [`{{x.${name}}}`, { x: {} }, `/x/${name}`],
        [`{{x.${name}.name}}`, { x: [] }, `/x/${name}/name`],
        [`{{#x}}{{${name}}}{{/x}}`, { x: [1] }, `/${name}`],
      ],
    ),
  ] as [string, Record<string, unknown>, string][])
    test(`is refused: ${JSON.stringify(data)} in ${JSON.stringify(body)}`, async (t) => {
      assert.deepEqual(
        (await issuesOf(render(t, body, data))).map((issue) => issue.path),
        [`/body/data${path}`],
      )
    })

  test('of a section with the name of something inherited is false', async (t) => {
    const body =
      '{{#constructor}}a{{/constructor}}{{#x.toString}}b{{/x.toString}}{{^__proto__}}c{{/__proto__}}'
    assert.equal((await render(t, body, { x: {} })).html, 'c')
  })

  test('that is missing is named with all others, each once, wherever it is missing', async (t) => {
    const templates = await withFiles(t, {
      'a.html': letter('{{b}}{{c}}{{#d}}{{e}}{{/d}}{{b}}', '{{a}}'),
      'a.txt': '{{c}}{{f}}',
      'layout.html': '{{g}}{{{content}}}',
    })
    assert.deepEqual(
      (await issuesOf(templates.render('a', { d: 1 }, { at: '/data' }))).map(({ path }) => path),
      ['/data/a', '/data/b', '/data/c', '/data/e', '/data/g', '/data/f'],
    )
  })

  test('is shown as text in HTML, whatever it is', async (t) => {
    const templates = await withFiles(t, {
      'a.html': letter(`<p title="{{x}}" lang='{{x}}'>{{x}}</p>`),
      ...bare,
    })
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...`<>&"'\`/={}#;x`.split('')) })),
        async (x) => {
          const { html } = await templates.render('a', { x })
          const [, title, lang, words] = /^<p title="([^"<>]*)" lang='([^'<>]*)'>([^<>]*)<\/p>$/.exec(html)!
          for (const part of [title!, lang!, words!]) {
            assert.equal(part, title)
            const plain = part.replace(/&(lt|gt|quot|#39|#96|amp);/g, (_all, name: string) => {
              return { lt: '<', gt: '>', quot: '"', '#39': "'", '#96': '`', amp: '&' }[name]!
            })
            assert.equal(plain, x)
          }
        },
      ),
    )
  })

  test('is shown as it is in a text, and in one line in a subject', async (t) => {
    const templates = await withFiles(t, { 'a.html': letter('x', 'S {{x}} E'), 'a.txt': '{{x}}', ...bare })
    await fc.assert(
      fc.asyncProperty(anyText(), async (x) => {
        const { subject, text } = await templates.render('a', { x })
        assert.equal(text, x)
        assert.match(subject, /^S .*E$/)
        assert.doesNotMatch(subject, /[\x00-\x1f\x7f-\x9f\u2028\u2029]/)
      }),
    )
    const { subject } = await templates.render('a', { x: 'a\r\nBcc: b@example.com\r\n\r\nbody' })
    assert.equal(subject, 'S a Bcc: b@example.com body E')
  })

  test('never comes from a prototype, whatever the name and the data are', async (t) => {
    const inherited = Object.getOwnPropertyNames(Object.prototype)
    const name = fc.oneof(
      fc.constantFrom(...inherited, 'length', 'at', 'x'),
      // But `app`, which every template is given.
      fc.stringMatching(/^[\w$]{1,8}$/).filter((text) => text !== 'app'),
    )
    const templates = new Map<string, Templates>()
    await fc.assert(
      fc.asyncProperty(fc.array(name, { minLength: 1, maxLength: 3 }), fc.jsonValue(), async (path, json) => {
        const key = path.join('.')
        const data = { x: json, y: [json] }
        const made = templates.get(key) ?? (await withFiles(t, { 'a.html': letter(`{{${key}}}`), ...bare }))
        templates.set(key, made)
        const own = path.reduce<unknown>(
          (value, step) =>
            typeof value === 'object' && value !== null && Object.hasOwn(value, step)
              ? (value as Record<string, unknown>)[step]
              : undefined,
          data,
        )
        const isShown = ['string', 'number', 'boolean'].includes(typeof own)
        if (isShown) await made.render('a', data)
        else assert.equal((await issuesOf(made.render('a', data))).length, 1)
      }),
    )
  })
})

describe('a file with a fault', () => {
  for (const [what, files, message] of [
    ['no front matter', { 'a.html': '<p>x</p>' }, /a\.html: the subject is missing/],
    ['no subject', { 'a.html': '---\n---\nx' }, /a\.html: the subject is missing/],
    ['an empty subject', { 'a.html': '---\nsubject:\n---\nx' }, /a\.html: the subject is missing/],
    [
      'an unknown line',
      { 'a.html': '---\nsubject: x\nfrom: y\n---\nx' },
      /"from: y" in its front matter is unknown/,
    ],
    ['an open tag', { 'a.html': letter('{{x') }, /a\.html: Unclosed tag/],
    ['an open section', { 'a.html': letter('{{#x}}') }, /a\.html: Unclosed section "x"/],
    [
      'a section in the wrong order',
      { 'a.html': letter('{{#x}}{{#y}}{{/x}}{{/y}}') },
      /a\.html: Unclosed section/,
    ],
    ['a partial', { 'a.html': letter('{{#x}}{{> b}}{{/x}}') }, /a\.html: \{\{> b\}\} is a partial/],
    ['a fault in the text', { 'a.html': letter('x'), 'a.txt': '{{/x}}' }, /a\.txt: Unopened section/],
    [
      'a layout without the mail',
      { 'a.html': letter('x'), 'layout.html': '{{content}}' },
      /layout\.html: \{\{\{content/,
    ],
  ] as [string, Record<string, string>, RegExp][])
    test(`is named to its author: ${what}`, async (t) => {
      const templates = await withFiles(t, files)
      await assert.rejects(templates.render('a', { x: 1 }), (error: Error) => {
        assert.equal(error.name, 'StartError')
        assert.match(error.message, message)
        return true
      })
    })
})

describe('front matter', () => {
  for (const [how, text] of [
    ['with Windows lines', '---\r\nsubject: Hello {{x}}\r\n---\r\nx'],
    ['with quotes', '---\nsubject: "Hello {{x}}"\n---\nx'],
    ['with a byte order mark', '\ufeff---\nsubject: Hello {{x}}\n---\nx'],
    ['with blanks, a comment and an empty line', '--- \n\n# yes\n  subject :  Hello {{x}}  \n---  \nx'],
  ] as const)
    test(how, async (t) => {
      const templates = await withFiles(t, { 'a.html': text, ...bare })
      const { subject, html } = await templates.render('a', { x: '"A"' })
      assert.equal(subject, 'Hello "A"')
      assert.equal(html, 'x')
    })
})
