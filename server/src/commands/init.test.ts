import assert from 'node:assert/strict'
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import type { TestAnswer } from '../testing/app.ts'
import { runHere } from '../testing/command.ts'
import { temporaryFolder } from '../testing/engines.ts'
import { initiated } from './init.fixture.ts'
import { startNode, startProgram } from '../testing/program.ts'

/** Asks the collection that the application begins with for what its rules, its schema and its unique field refuse. */
async function projectsAreRefused(url: string): Promise<void> {
  async function ask(method: string, path: string, body?: object, token?: string) {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
    const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    return { status: answer.status, body: (await answer.json()) as TestAnswer['body'] }
  }
  const register = async (name: string) => {
    const account = { email: `${name}@example.com`, password: 'a long passphrase' }
    const { status, body } = await ask('POST', '/auth/register', account)
    assert.equal(status, 201, JSON.stringify(body))
    return { token: body.token as string, id: body.user._id as string }
  }
  await register('admin')
  const [ada, bob, eve] = [await register('ada'), await register('bob'), await register('eve')]
  const house = { title: 'House', slug: 'house', members: [ada.id, bob.id] }
  const made = await ask('POST', '/store/projects', house, ada.token)
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const path = `/store/projects/${made.body._id}`
  for (const [method, at, body, who, status, details] of [
    // The schema.
    ['POST', '/store/projects', { ...house, title: '', slug: 'a' }, ada, 400, '/body/title'],
    ['POST', '/store/projects', { ...house, slug: 'The House' }, ada, 400, '/body/slug'],
    ['PATCH', path, { slug: null }, ada, 400, '/body/slug'],
    ['PATCH', path, { members: [5] }, ada, 400, '/body/members/0'],
    // The unique field.
    ['POST', '/store/projects', house, ada, 409, 'slug'],
    ['POST', '/store/projects', { ...house, members: [eve.id] }, eve, 409, 'slug'],
    // The rules.
    ['POST', '/store/projects', { ...house, slug: 'a' }, eve, 403, 'create'],
    ['PATCH', path, { members: [ada.id] }, bob, 403, 'update'],
    ['DELETE', path, undefined, bob, 403, 'delete'],
    ['GET', path, undefined, eve, 404, undefined],
    ['PATCH', path, { members: [eve.id] }, eve, 404, undefined],
    ['DELETE', path, undefined, eve, 404, undefined],
    ['GET', path, undefined, undefined, 401, undefined],
    // What none of them refuses.
    ['PATCH', path, { title: 'Our house' }, bob, 200, undefined],
    ['DELETE', path, undefined, ada, 200, undefined],
  ] as const) {
    const answer = await ask(method, at, body, who?.token)
    const what = `${method} ${at} ${JSON.stringify(body)} ${JSON.stringify(answer.body)}`
    assert.equal(answer.status, status, what)
    const { issues, fields, action } = answer.body.error?.details ?? {}
    if (details) assert.equal(issues?.[0].path ?? fields?.[0] ?? action, details, what)
  }
}

test('sixwire init makes an application that runs, and whose test passes', async (t) => {
  const { folder, output } = await initiated(t)
  assert.match(output, /^Created in My shop: package\.json, .*\.gitignore\n/)
  assert.match(output, /\n\n {2}cd "My shop" && npm install\n {2}npm test\n {2}npm run dev\n$/)
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  assert.equal(manifest.name, 'my-shop')
  assert.deepEqual(Object.keys(manifest.scripts), ['start', 'dev', 'test', 'check'])
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  assert.deepEqual(manifest.dependencies, { sixwire: `^${version}` })

  // The secret suffices for production, and is readable by its owner alone.
  const production = { NODE_ENV: 'production', PUBLIC_URL: 'https://shop.example' }
  const server = startProgram(t, ['start'], { folder, environment: { ...production, HOST: '127.0.0.1' } })
  const [, port] = await server.until(/runs at http:\/\/localhost:(\d+)/)
  const answer = await fetch(`http://127.0.0.1:${port}/notes`)
  assert.deepEqual([answer.status, (await stat(join(folder, '.env'))).mode & 0o777], [401, 0o600])
  await projectsAreRefused(`http://127.0.0.1:${port}`)
  await server.kill()

  const tests = startNode(t, ['--conditions=sixwire-source', '--test'], { folder, environment: {} })
  assert.equal(await tests.ended, 0, tests.output())
  assert.match(tests.output(), /pass 1\n/)
})

test('sixwire init keeps every file that is there, and says what it lacks', async (t) => {
  const folder = await temporaryFolder(t)
  const files = { 'package.json': '{"name":"mine"}', '.gitignore': '/node_modules\n', '.env': 'PORT=4000\n' }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  // A link to elsewhere is a file that is there.
  await symlink('/nowhere', join(folder, 'tsconfig.json'))
  const first = await runHere(['init'], { folder })
  assert.equal(first.code, 0, first.errors)
  assert.match(
    first.output,
    /^Kept package\.json: it lacks "type": "module" and the dependency "sixwire": "\^/m,
  )
  assert.match(first.output, /^Kept \.gitignore: it lacks data, \.env$/m)
  assert.match(first.output, /^Kept tsconfig\.json$/m)
  assert.match(first.output, /^ {2}npm install$/m)
  for (const [name, text] of Object.entries(files))
    assert.equal(await readFile(join(folder, name), 'utf8'), text)
  const second = await runHere(['init'], { folder })
  assert.doesNotMatch(second.output, /Created/)
})

test('sixwire init takes over the secret of an installation that has run', async (t) => {
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, 'data'))
  await writeFile(join(folder, 'data/secret'), 'the-secret-that-all-of-it-is-encrypted-with')
  await runHere(['init'], { folder })
  assert.match(
    await readFile(join(folder, '.env'), 'utf8'),
    /^SIXWIRE_SECRET=the-secret-that-all-of-it-is-encrypted-with$/m,
  )
})

test('sixwire init says in one line where it can write nothing', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'file'), '')
  const { code, output, errors } = await runHere(['init', 'file'], { folder })
  assert.deepEqual([code, output], [1, ''])
  assert.match(errors, /^sixwire: \S+file can't be created: .*\n$/)
  assert.equal((await runHere(['init', 'a', 'b'], { folder })).code, 2)
})
