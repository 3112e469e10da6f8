import assert from 'node:assert/strict'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { runHere } from '../testing/command.ts'
import { applicationFolder } from '../testing/program.ts'

const BUILT_IN = [
  'address-change-requested',
  'address-changed',
  'address-restored',
  'address-set',
  'change-address',
  'factor-added',
  'factor-removed',
  'factors-removed',
  'impersonated',
  'invitation',
  'magic-link',
  'new-device',
  'new-sign-in',
  'password-changed',
  'phone-changed',
  'recovery-code-used',
  'reset-password',
  'second-factor-due',
  'verify-email',
]

const ORDER =
  '---\nsubject: Order {{number}} & more\n---\n<p>{{#lines}}{{what}}; {{/lines}}<a href="{{appUrl}}">us</a></p>\n'

/** An application with templates, in the folder that its configuration may name. */
async function shop(
  t: TestContext,
  files: Record<string, string> = { 'order.html': ORDER },
  folder = 'templates',
) {
  const application = await applicationFolder(t, {
    'sixwire.config.ts': `import { defineConfig } from 'sixwire'
      export default defineConfig({ name: 'Shop'${folder === 'templates' ? '' : `, messaging: { templates: '${folder}' }`} })`,
  })
  await mkdir(join(application, folder), { recursive: true })
  for (const [file, text] of Object.entries(files)) await writeFile(join(application, folder, file), text)
  return {
    folder: application,
    run: (...words: string[]) =>
      runHere(['template', ...words], {
        folder: application,
        environment: { APP_URL: 'https://shop.example' },
      }),
  }
}

describe('sixwire template list', () => {
  test('names the built-in ones and those of the application', async (t) => {
    const { run } = await shop(t)
    const { code, output, errors } = await run('list')
    assert.equal(code, 0, errors)
    assert.deepEqual(output.trim().split('\n'), [...BUILT_IN, 'order', 'sign-in-code'].toSorted())
  })
})

describe('sixwire template preview', () => {
  test('writes subject and text of each built-in one, with values made up', async (t) => {
    const { run, folder } = await shop(t)
    for (const name of BUILT_IN) {
      const { code, output, errors } = await run('preview', name)
      assert.equal(code, 0, errors)
      assert.match(output, /^Subject: .*Shop.*\n\nShop\n\nHello/)
      assert.match(output, /https:\/\/shop\.example/)
      assert.doesNotMatch(output, /undefined|\{\{/)
    }
    assert.ok(
      !(await readdir(join(folder, 'data'))).some((file) => file.includes('.db')),
      'no database is made',
    )
  })

  test('writes the text of an SMS alone', async (t) => {
    const { run } = await shop(t)
    assert.equal(
      (await run('preview', 'sign-in-code')).output,
      '123456 is your code for Shop. Nobody at Shop asks you for it.\n\n@shop.example #123456\n',
    )
  })

  test('takes values from the command line', async (t) => {
    const { run } = await shop(t)
    const data = JSON.stringify({ number: 7, lines: [{ what: 'tea' }, { what: '<b>' }] })
    const { code, output, errors } = await run('preview', 'order', '--data', data)
    assert.equal(code, 0, errors)
    assert.match(output, /^Subject: Order 7 & more\n\nShop\n\ntea; <b>; us <https:\/\/shop\.example>\n/)
  })

  test('takes values from a file, and writes the HTML alone', async (t) => {
    const { run, folder } = await shop(t)
    await writeFile(join(folder, 'order.json'), JSON.stringify({ number: 7, lines: { what: '<b>' } }))
    const { code, output, errors } = await run('preview', 'order', '--html', '--data', '@order.json')
    assert.equal(code, 0, errors)
    assert.match(
      output,
      /^<!doctype html>[\s\S]*<p>&lt;b&gt;; <a href="https:\/\/shop\.example">us<\/a><\/p>/,
    )
    assert.doesNotMatch(output, /^Subject/m)
  })

  test('looks in the folder that the configuration names, and takes the file that is there first', async (t) => {
    const { run } = await shop(
      t,
      { 'magic-link.html': '---\nsubject: Come in\n---\n<p>{{link}}</p>' },
      'mails/en',
    )
    const { output } = await run('preview', 'magic-link')
    assert.match(output, /^Subject: Come in\n\nShop\n\nhttps:\/\/shop\.example\/example#token=/)
  })

  for (const [words, message] of [
    [['order', '--data', '{}'], '/data/number: The template needs this value.'],
    [
      ['order', '--data', '{"number":[]}'],
      '/data/number: The template shows this value, so it must be text, a number or a boolean.',
    ],
    [
      ['nope'],
      `/template: There is no template "nope": the templates are ${['bad', ...BUILT_IN, 'order'].toSorted().join(', ')}.`,
    ],
    [['order', '--data', '[1]'], '--data: write an object, like {"name":"Ada"}'],
    [['order', '--data', '{'], /^--data: this is not JSON: /],
    [['order', '--data', '@none.json'], /^--data: none\.json can't be read: ENOENT/],
    [['bad'], /^\S+\/templates\/bad\.html: the subject is missing/],
  ] as [string[], string | RegExp][])
    test(`says in one line what is wrong: ${words.join(' ')}`, async (t) => {
      const { run } = await shop(t, { 'order.html': ORDER, 'bad.html': '<p>x</p>' })
      const { code, output, errors } = await run('preview', ...words)
      assert.equal(code, 1)
      assert.equal(output, '')
      const [line = '', ...more] = errors.trimEnd().split('\n')
      assert.deepEqual(more, [])
      if (typeof message === 'string') assert.equal(line, `sixwire: ${message}`)
      else assert.match(line.replace(/^sixwire: /, ''), message)
    })
})

describe('words that make no template command', () => {
  for (const words of [
    '',
    'frob',
    'list x',
    'list --html',
    'preview',
    'preview a b',
    'preview a --data',
    'preview a --text',
  ])
    test(`sixwire template ${words}`, async () => {
      const { code, output, errors } = await runHere(['template', ...words.split(' ').filter(Boolean)])
      assert.deepEqual([code, output], [2, ''])
      assert.match(errors, /^sixwire template[a-z ]*: .+\n\nUsage: sixwire template\b/)
    })
})
