import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'

import { login, PASSWORD } from '../../testing/auth.ts'
import { eachEngine, temporaryFolder } from '../../testing/engines.ts'
import { startProgram } from '../../testing/program.ts'
import {
  documentedWords,
  emptyApplication,
  oldHash,
  OLD_PASSWORD,
  reportOf,
  rowsOf,
} from '../imports.fixture.ts'
import { addSystemRow, writePocketbase, type CollectionFixture } from './pocketbase.fixture.ts'

const ADA = '0eexi813altqtwu'
const BOB = '4bnp9p73li9mlm6'
const POST = '4b324eyj2a8gk8a'
const EMPTY = 'qt1pkbk9br30qng'
const COVER = `/api/files/pbc_posts/${POST}/gr_e_cat_6jvi48xy1o.gif`
const ofAuthor = 'author = @request.auth.id'

const DATES = [
  { name: 'created', type: 'autodate', onCreate: true },
  { name: 'updated', type: 'autodate', onCreate: true, onUpdate: true },
]

const collections = (passwordHash: string): CollectionFixture[] => [
  {
    id: '_pb_users_auth_',
    name: 'users',
    type: 'auth',
    rules: { listRule: 'id = @request.auth.id', viewRule: 'id = @request.auth.id', createRule: '' },
    indexes: ["CREATE UNIQUE INDEX `idx_e` ON `users` (`email`) WHERE `email` != ''"],
    fields: [
      { name: 'name', type: 'text' },
      { name: 'avatar', type: 'file' },
      { name: 'credits', type: 'number' },
      ...DATES,
    ],
    rows: [
      {
        id: ADA,
        email: 'ada@example.com',
        password: passwordHash,
        tokenKey: 'a',
        verified: 1,
        name: 'Ada',
        avatar: 'me_43t1ps83vn.gif',
        credits: 5,
        created: '2024-11-29 17:02:29.431Z',
      },
      { id: BOB, email: 'bob@example.com', password: passwordHash, tokenKey: 'b', name: 'Bob' },
      { id: 'withoutaddress1', password: passwordHash, tokenKey: 'c' },
    ],
  },
  {
    id: 'pbc_posts',
    name: 'posts',
    rules: {
      listRule: `${ofAuthor} || open = true`,
      viewRule: `${ofAuthor} || open = true`,
      createRule: '@request.auth.id != "" && @request.body.author = @request.auth.id',
      updateRule: ofAuthor,
      deleteRule: `${ofAuthor} && author.credits > 3`,
    },
    indexes: [
      "CREATE UNIQUE INDEX `idx_m` ON `posts` (`mail`) WHERE `mail` != ''",
      'CREATE UNIQUE INDEX `idx_l` ON `posts` (lower(`title`))',
      'CREATE INDEX `idx_s` ON `posts` (`state`, `created`)',
    ],
    fields: [
      { name: 'title', type: 'text', required: true },
      { name: 'count', type: 'number', onlyInt: true },
      { name: 'open', type: 'bool' },
      { name: 'mail', type: 'email' },
      { name: 'due', type: 'date' },
      { name: 'state', type: 'select', values: ['new', 'done'], maxSelect: 1 },
      { name: 'labels', type: 'select', values: ['a', 'b', 'c'], maxSelect: 3 },
      { name: 'data', type: 'json' },
      { name: 'cover', type: 'file', maxSelect: 1 },
      { name: 'papers', type: 'file', maxSelect: 5 },
      {
        name: 'author',
        type: 'relation',
        collectionId: '_pb_users_auth_',
        maxSelect: 1,
        cascadeDelete: true,
      },
      { name: 'tags', type: 'relation', collectionId: 'pbc_tags', maxSelect: 9 },
      { name: 'parent', type: 'relation', collectionId: 'pbc_posts', maxSelect: 1 },
      { name: 'place', type: 'geoPoint' },
      { name: 'secret', type: 'text', hidden: true },
      { name: 'pin', type: 'password' },
      ...DATES,
    ],
    rows: [
      // It refers to one that comes later.
      {
        id: POST,
        title: 'Hello',
        count: 3,
        open: 1,
        mail: 'p@example.com',
        due: '2026-01-02 03:04:05.678Z',
        state: 'new',
        labels: '["a","c"]',
        data: '{"a":[1,null]}',
        cover: 'gr_e_cat_6jvi48xy1o.gif',
        papers: '["one_sqf9x1lbf4.txt","gone_3tcggme1fp.txt"]',
        author: ADA,
        tags: '["y97wnh3fvvfxj5b"]',
        parent: EMPTY,
        place: '{"lon":8.5,"lat":47.3}',
        secret: 'x',
        pin: '$2a$10$LLOfx',
        created: '2024-11-29 17:02:30.133Z',
        updated: '2025-01-01 00:00:00.000Z',
      },
      { id: EMPTY, title: 'Empty', created: '2024-11-29 17:02:31.138Z', updated: '2024-11-29 17:02:31.138Z' },
      { id: 'baddocument0001', title: 'Bad', state: 'gone', created: '2024-11-29 17:02:32.138Z' },
      { id: 'baddocument0002', title: 'Large', data: '[9007199254740993]' },
    ],
  },
  {
    id: 'pbc_tags',
    name: 'tags',
    rules: { listRule: '', viewRule: '', createRule: '@request.auth.id != ""' },
    indexes: ['CREATE UNIQUE INDEX `idx_t` ON `tags` (`title` COLLATE NOCASE)'],
    fields: [{ name: 'title', type: 'text' }],
    rows: [{ id: 'y97wnh3fvvfxj5b', title: 'red' }],
  },
  {
    id: 'pbc_files',
    name: 'files',
    fields: [{ name: 'n', type: 'number' }],
    rows: [{ id: 'f00000000000001', n: 1.5 }],
  },
  {
    id: 'pbc_clients',
    name: 'clients',
    type: 'auth',
    authRule: 'verified = true',
    fields: [{ name: 'company', type: 'text' }],
    rows: [
      {
        id: 'client000000001',
        email: 'ADA@example.com',
        password: passwordHash,
        tokenKey: 'd',
        company: 'X',
      },
    ],
  },
  {
    id: 'pbc_closed',
    name: 'closed',
    type: 'auth',
    authRule: null,
    rows: [{ id: 'closed000000001', email: 'closed@example.com', password: passwordHash, tokenKey: 'e' }],
  },
  { id: 'pbc_stats', name: 'stats', type: 'view' },
]

const STORED = {
  [`pbc_posts/${POST}/gr_e_cat_6jvi48xy1o.gif`]: `GIF89a${'.'.repeat(50)}`,
  [`pbc_posts/${POST}/gr_e_cat_6jvi48xy1o.gif.attrs`]:
    '{"user.content_type":"image/gif","user.metadata":{"original-filename":"Größe cat.gif"}}',
  [`pbc_posts/${POST}/one_sqf9x1lbf4.txt`]: 'one',
  [`_pb_users_auth_/${ADA}/me_43t1ps83vn.gif`]: 'GIF89a...',
}

eachEngine((engine) => {
  test('an installation of PocketBase is imported: accounts, documents, relations, files, rules', async (t) => {
    const { folder, sixwire, start } = await emptyApplication(t, engine)
    const { dryRun, words } = await documentedWords('pocketbase')
    const dir = join(folder, 'pb_data')
    await writePocketbase(dir, collections(await oldHash()), STORED)
    addSystemRow(dir, '_externalAuths', {
      id: 'e1',
      collectionRef: '_pb_users_auth_',
      recordRef: ADA,
      provider: 'google',
      providerId: '1',
    })
    addSystemRow(dir, '_externalAuths', {
      id: 'e2',
      collectionRef: '_pb_users_auth_',
      recordRef: ADA,
      provider: 'discord',
      providerId: '2',
    })
    addSystemRow(dir, '_superusers', { id: 's', email: 'root@example.com' })

    const filesBefore = await readdir(folder, { recursive: true })
    const checked = await sixwire(...dryRun, '--json')
    const expected = {
      users: { created: 3, unchanged: 0, refused: 2 },
      files: { stored: 3, present: 0, failed: 1, bytes: 68 },
      collections: [
        { name: 'users', created: 3, present: 0, refused: 0 },
        { name: 'posts', created: 2, present: 0, refused: 2 },
        { name: 'tags', created: 1, present: 0, refused: 0 },
        { name: 'files_1', created: 1, present: 0, refused: 0 },
        { name: 'clients', created: 1, present: 0, refused: 0 },
        { name: 'closed', created: 1, present: 0, refused: 0 },
      ],
    }
    assert.partialDeepStrictEqual(reportOf(checked), {
      ...expected,
      // That an address is taken is found when it is written.
      users: { created: 4, unchanged: 0, refused: 1 },
    })
    assert.deepEqual(await readdir(folder, { recursive: true }), filesBefore)
    const untouched = await start()
    assert.deepEqual(await rowsOf(untouched), { users: 0, documents: 0, files: 0, indexes: 0 })
    await untouched.stop()

    const imported = await sixwire(...words)
    assert.equal(imported.code, 1)
    assert.doesNotMatch(imported.output, /\$2[aby]\$/)
    for (const line of [
      /^accounts withoutaddress1: VALIDATION_ERROR email: /m,
      /^files \/api\/files\/pbc_posts\/4b324eyj2a8gk8a\/gone_3tcggme1fp\.txt: ENOENT /m,
      /^posts baddocument0001: VALIDATION_ERROR .*\/state/m,
      /^posts line 4: VALIDATION_ERROR \/data\/0: /m,
      /^posts +2 +0 +2$/m,
      /^accounts client000000001: EMAIL_TAKEN /m,
      /^- users and clients and closed have accounts/m,
      /^- closed: authRule lets nobody sign in, so its accounts are disabled$/m,
      /^- addresses are in several of them \(1\)/m,
      /^- clients: authRule is not translated, .*: verified = true$/m,
      /^- stats is a view/m,
      /^- files is called files_1 here/m,
      /^- sign-ins with discord do not come \(1\)/m,
      /^- superusers do not come \(1\)/m,
      /^- posts: deleteRule is not translated, so administrators only: author = @request.auth.id && author.credits > 3$/m,
      /^- posts: this unique index is not translated: CREATE UNIQUE INDEX `idx_l`/m,
      /^- posts: the field pin does not come/m,
      /^collections\.pocketbase\.ts declares the collections/m,
    ])
      assert.match(imported.output, line)

    const server = await start()
    const ada = await login(server, 'ada@example.com', OLD_PASSWORD)
    const { token } = ada.body
    const me = (await server.request('GET', '/auth/me', { token })).body.user
    assert.deepEqual(
      [ada.status, me._id, me.emailVerified, me.name, me.createdAt],
      [200, ADA, true, 'Ada', '2024-11-29T17:02:29.431Z'],
    )
    assert.equal((await login(server, 'closed@example.com', OLD_PASSWORD)).status, 401)
    const bob = (await login(server, 'bob@example.com', OLD_PASSWORD)).body.token
    const post = await server.request('GET', `/store/posts/${POST}?expand=author,tags,parent`, { token })
    const { cover, papers, $expanded, ...fields } = post.body
    assert.deepEqual(fields, {
      _id: POST,
      createdAt: '2024-11-29T17:02:30.133Z',
      updatedAt: '2025-01-01T00:00:00.000Z',
      title: 'Hello',
      count: 3,
      open: true,
      mail: 'p@example.com',
      due: '2026-01-02T03:04:05.678Z',
      state: 'new',
      labels: ['a', 'c'],
      data: { a: [1, null] },
      author: ADA,
      tags: ['y97wnh3fvvfxj5b'],
      parent: EMPTY,
      place: { lon: 8.5, lat: 47.3 },
    })
    assert.deepEqual([$expanded.author.credits, $expanded.tags[0].title], [5, 'red'])
    assert.equal(
      (await server.request('GET', cover, { token })).text,
      STORED[`pbc_posts/${POST}/gr_e_cat_6jvi48xy1o.gif`],
    )
    assert.equal((await server.request('GET', cover, { token: bob })).status, 404)
    const record = await server.request('GET', cover.replace(/\/content$/, ''), { token })
    assert.deepEqual([record.body.originalName, record.body.contentType], ['Größe cat.gif', 'image/gif'])
    assert.deepEqual(
      [(await server.request('GET', papers[0], { token })).text, papers[1]],
      ['one', `/api/files/pbc_posts/${POST}/gone_3tcggme1fp.txt`],
    )
    const map = await readFile(join(folder, 'files.pocketbase.ndjson'), 'utf8')
    assert.ok(map.includes(JSON.stringify({ from: COVER, to: cover })))

    // The rules of PocketBase hold: others see what is open, and change nothing.
    assert.equal((await server.request('GET', '/store/posts')).body.total, 1)
    assert.equal((await server.request('GET', `/store/posts/${EMPTY}`, { token: bob })).status, 404)
    assert.equal(
      (await server.request('PATCH', `/store/posts/${POST}`, { token: bob, body: { title: 'x' } })).status,
      403,
    )
    assert.equal(
      (await server.request('PATCH', `/store/posts/${POST}`, { token, body: { state: 'gone' } })).status,
      400,
    )
    assert.equal((await server.request('DELETE', `/store/posts/${POST}`, { token })).status, 403)
    assert.equal((await server.request('GET', '/store/users', { token })).body.total, 1)
    const own = await server.request('POST', '/store/posts', {
      token,
      body: { title: 'T', author: ADA, mail: 'p@example.com' },
    })
    assert.deepEqual([own.status, own.body.error?.details], [409, { fields: ['mail'] }])
    assert.equal((await server.request('POST', '/store/tags', { token, body: { title: 'RED' } })).status, 409)
    await server.stop()

    // What is there already stays as it is.
    const declared = await readFile(join(folder, 'collections.pocketbase.ts'), 'utf8')
    const again = await sixwire(...words, '--json')
    assert.partialDeepStrictEqual(reportOf(again), {
      users: { created: 0, unchanged: 3, refused: 2 },
      files: { stored: 0, present: 3, failed: 1 },
      collections: expected.collections.map((one) => ({ ...one, created: 0, present: one.created })),
      isNew: false,
      missing: [],
    })
    assert.equal(await readFile(join(folder, 'collections.pocketbase.ts'), 'utf8'), declared)
    const none = await sixwire('pocketbase', folder)
    assert.match(none.errors, /data\.db: there is no such file: name the folder pb_data$/m)
  })

  test('names and links that lead out of the storage bring no file', async (t) => {
    const { folder, sixwire } = await emptyApplication(t, engine)
    const dir = join(folder, 'pb_data')
    const secret = join(folder, 'secret.txt')
    await writeFile(secret, 'secret')
    const row = (id: string, paper: string) => ({ id, paper })
    await writePocketbase(
      dir,
      [
        {
          id: 'pbc_notes',
          name: 'notes',
          fields: [{ name: 'paper', type: 'file' }],
          rows: [
            row('../../..', 'secret.txt'),
            row('linked00000001', 'linked.txt'),
            row('folder00000001', '..'),
            row('plain000000001', 'plain.txt'),
          ],
        },
      ],
      { 'pbc_notes/plain000000001/plain.txt': 'plain' },
    )
    const storage = join(dir, 'storage/pbc_notes')
    await mkdir(join(storage, 'linked00000001'))
    await mkdir(join(storage, 'folder00000001'))
    await symlink(secret, join(storage, 'linked00000001/linked.txt'))
    const { files, errors } = reportOf(await sixwire('pocketbase', dir, '--json'))
    assert.partialDeepStrictEqual(files, { stored: 1, failed: 3, bytes: 5 })
    assert.deepEqual(
      errors
        .filter(({ of }) => of === 'files')
        .map(({ message }) => message)
        .toSorted(),
      ['/path: is no file', '/path: leads out of the folder', '/path: leads out of the folder'],
    )
  })

  test('an import that is killed is whole once it is repeated', async (t) => {
    const { folder, environment, sixwire, start } = await emptyApplication(t, engine)
    const dir = join(await temporaryFolder(t), 'pb_data')
    const ids = Array.from({ length: 1500 }, (_, i) => String(i).padStart(15, '0'))
    await writePocketbase(
      dir,
      [
        {
          id: 'pbc_notes',
          name: 'notes',
          fields: [
            { name: 'n', type: 'number' },
            { name: 'paper', type: 'file' },
          ],
          rows: ids.map((id, i) => ({ id, n: i, paper: i < 20 ? `${i}.txt` : '' })),
        },
      ],
      Object.fromEntries(ids.slice(0, 20).map((id, i) => [`pbc_notes/${id}/${i}.txt`, `file ${i}`])),
    )
    const observer = await start()
    const program = startProgram(t, ['import', 'pocketbase', dir], { folder, environment })
    let isOver = false
    void program.ended.then(() => (isOver = true))
    // Reading SQLite alone would leave no time for the program's end to be heard of.
    while (!isOver && (await rowsOf(observer))['documents'] === 0) await setImmediate()
    assert.ok((await rowsOf(observer))['documents']! > 0, program.errors())
    await program.kill()
    await observer.stop()

    const report = reportOf(await sixwire('pocketbase', dir, '--json'))
    const [notes] = report.collections
    assert.deepEqual([notes!.created + notes!.present, notes!.refused, report.files.failed], [1500, 0, 0])
    const server = await start()
    await server.register('admin@example.com')
    await server.app.service('auth').users.promote('admin@example.com')
    const { token } = (await login(server, 'admin@example.com', PASSWORD)).body
    const list = await server.request(
      'GET',
      '/store/notes?limit=1&sort=n&filter={"paper":{"$exists":true}}',
      { token },
    )
    assert.equal(list.body.total, 20)
    assert.equal((await server.request('GET', list.body.data[0].paper, { token })).text, 'file 0')
    assert.equal((await rowsOf(server))['files'], 20)
  })
})
