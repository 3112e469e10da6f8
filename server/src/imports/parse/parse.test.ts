import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { login } from '../../testing/auth.ts'
import { eachEngine } from '../../testing/engines.ts'
import {
  documentedWords,
  emptyApplication,
  oldHash,
  OLD_PASSWORD,
  reportOf,
  rowsOf,
} from '../imports.fixture.ts'

const [ADA, BOB, POST, TAG] = ['aDa1234567', 'bOb1234567', 'pOst123456', 'tAg1234567']
const PAPER = '0123456789abcdef0123456789abcdef_paper.txt'
const PAPER_URL = `https://old.example/parse/files/app/${PAPER}`
const CREATED = '2015-01-02T03:04:05.678Z'
const UPDATED = '2016-01-01T00:00:00.000Z'

type Files = Record<string, readonly object[]>

// https://docs.parseplatform.org/rest/guide/: as the dashboard exports classes.
const ofDashboard = (bcryptPassword: string): Files => {
  const times = { createdAt: CREATED, updatedAt: UPDATED }
  const ownersAcl = { [ADA]: { read: true, write: true } }
  return {
    _User: [
      {
        objectId: ADA,
        username: 'ada',
        email: 'ada@example.com',
        emailVerified: true,
        bcryptPassword,
        sessionToken: 'r:secret',
        plan: 'pro',
        authData: { google: { id: '7', access_token: 'secret' }, facebook: { id: '8' } },
        ...times,
      },
      { objectId: BOB, username: 'bob@example.com', bcryptPassword, ...times },
      { objectId: 'anonymous1', username: 'x', authData: { anonymous: { id: '9' } }, ...times },
    ],
    Post: [
      {
        objectId: POST,
        title: 'Hello',
        author: { __type: 'Pointer', className: '_User', objectId: ADA },
        at: { __type: 'Date', iso: UPDATED },
        place: { __type: 'GeoPoint', latitude: 47.3, longitude: 8.5 },
        paper: { __type: 'File', name: PAPER, url: PAPER_URL },
        area: {
          __type: 'Polygon',
          coordinates: [
            [47, 8],
            [47, 9],
          ],
        },
        raw: { __type: 'Bytes', base64: 'AA==' },
        list: [{ post: { __type: 'Pointer', className: 'Post', objectId: POST } }],
        tags: { __type: 'Relation', className: 'Tag' },
        ACL: { ...ownersAcl, '*': { read: true } },
        ...times,
      },
    ],
    Note: [{ objectId: 'n1', text: 'mine', ACL: ownersAcl, ...times }],
    Tag: [
      { objectId: TAG, name: 'red', ...times },
      { objectId: 'tAg2', name: 'roles', ACL: { 'role:admin': { write: true } }, ...times },
    ],
    '_Join:tags:Post': [{ objectId: 'j', owningId: POST, relatedId: TAG }],
    _Session: [{ objectId: 's', sessionToken: 'r:secret' }],
  }
}

// https://github.com/parse-community/parse-server/blob/release/src/Adapters/Storage/Mongo/MongoTransform.js: as mongoexport writes its collections.
const ofMongoexport = (hash: string): Files => {
  const times = { _created_at: { $date: CREATED }, _updated_at: { $date: UPDATED } }
  return {
    _User: [
      {
        _id: ADA,
        username: 'ada',
        email: 'ada@example.com',
        emailVerified: true,
        _hashed_password: hash,
        _auth_data_google: { id: '7' },
        _auth_data_facebook: { id: '8' },
        _email_verify_token: 'secret',
        plan: 'pro',
        ...times,
      },
      { _id: BOB, username: 'bob@example.com', _hashed_password: hash, ...times },
      { _id: 'anonymous1', username: 'x', _auth_data_anonymous: { id: '9' }, ...times },
    ],
    Post: [
      {
        _id: POST,
        title: 'Hello',
        _p_author: `_User$${ADA}`,
        at: { $date: UPDATED },
        place: [8.5, 47.3],
        area: {
          type: 'Polygon',
          coordinates: [
            [
              [8, 47],
              [9, 47],
            ],
          ],
        },
        paper: PAPER,
        raw: 'AA==',
        list: [{ post: { __type: 'Pointer', className: 'Post', objectId: POST } }],
        _rperm: ['*', ADA],
        _wperm: [ADA],
        _acl: {},
        ...times,
      },
    ],
    Note: [{ _id: 'n1', text: 'mine', _rperm: [ADA], _wperm: [ADA], ...times }],
    Tag: [
      { _id: TAG, name: 'red', ...times },
      { _id: 'tAg2', name: 'roles', _rperm: [], _wperm: ['role:admin'], ...times },
    ],
    '_Join:tags:Post': [{ _id: 'j', owningId: POST, relatedId: TAG }],
    _SCHEMA: [
      {
        _id: 'Post',
        title: 'string',
        author: '*_User',
        place: 'geopoint',
        area: 'polygon',
        paper: 'file',
        tags: 'relation<Tag>',
        _metadata: { class_permissions: OPEN },
      },
    ],
    _Session: [{ _id: 's', _session_token: 'r:secret' }],
  }
}

const EVERYBODY = { '*': true }
const OPEN = { find: EVERYBODY, get: EVERYBODY, create: EVERYBODY, update: EVERYBODY, delete: EVERYBODY }

const FORMS = [
  {
    form: 'the dashboard',
    files: ofDashboard,
    text: (objects: readonly object[]) => `{ "results": ${JSON.stringify(objects, null, 1)} }\n`,
    from: PAPER_URL,
  },
  {
    form: 'mongoexport',
    files: ofMongoexport,
    text: (objects: readonly object[]) => objects.map((one) => `${JSON.stringify(one)}\n`).join(''),
    from: PAPER,
  },
]

eachEngine((engine) => {
  for (const { form, files, text, from } of FORMS)
    test(`classes of Parse are imported as ${form} writes them`, async (t) => {
      const { folder, sixwire, start } = await emptyApplication(t, engine)
      const { dryRun, words } = await documentedWords('parse')
      await mkdir(join(folder, 'export/files'), { recursive: true })
      for (const [name, objects] of Object.entries(files(await oldHash())))
        await writeFile(join(folder, `export/${name}.json`), text(objects))
      await writeFile(join(folder, `export/files/${PAPER}`), 'a paper')

      const expected = {
        users: { created: 2, unchanged: 0, refused: 1 },
        files: { stored: 1, present: 0, failed: 0 },
        collections: [
          { name: 'Note', created: 1, present: 0, refused: 0 },
          { name: 'Post', created: 1, present: 0, refused: 0 },
          { name: 'Tag', created: 2, present: 0, refused: 0 },
          { name: 'User', created: 3, present: 0, refused: 0 },
        ],
      }
      assert.partialDeepStrictEqual(reportOf(await sixwire(...dryRun, '--json')), expected)
      const untouched = await start()
      assert.deepEqual(await rowsOf(untouched), { users: 0, documents: 0, files: 0, indexes: 0 })
      await untouched.stop()

      const imported = await sixwire(...words, '--json')
      assert.doesNotMatch(imported.output, /secret|\$2[aby]\$/)
      const { notes, ...report } = reportOf(imported)
      assert.partialDeepStrictEqual(report, expected)
      assert.deepEqual(
        report.errors.map(({ of, which }) => `${of} ${which}`),
        ['accounts anonymous1'],
      )
      for (const note of [
        /^_User is called User here/,
        /^_Session does not come/,
        /^sign-ins with facebook do not come \(1\)/,
        /^Tag: objects differ in their ACLs .*: 1 of which have no ACL, .*; 1 of which have an ACL with roles/,
      ])
        assert.ok(
          notes.some((one) => note.test(one)),
          `${note} in ${notes.join('\n')}`,
        )

      const server = await start()
      const ada = await login(server, 'ada@example.com', OLD_PASSWORD)
      assert.deepEqual([ada.status, ada.body.user._id], [200, ADA])
      const { token } = ada.body
      const bob = (await login(server, 'bob@example.com', OLD_PASSWORD)).body.token
      const post = await server.request('GET', `/store/Post/${POST}?expand=author,tags,list.post`, {
        token: bob,
      })
      // A profile is its owner's, and the tags belong to nobody.
      assert.equal(post.body.$expanded.author, undefined)
      const { paper, $expanded, ...fields } = post.body
      assert.deepEqual(fields, {
        _id: POST,
        createdAt: CREATED,
        updatedAt: UPDATED,
        title: 'Hello',
        author: ADA,
        at: UPDATED,
        place: { latitude: 47.3, longitude: 8.5 },
        area: [
          [47, 8],
          [47, 9],
        ],
        raw: 'AA==',
        list: [{ post: POST }],
        tags: [TAG],
      })
      assert.equal($expanded['list.post'][0].title, 'Hello')
      const mine = await server.request('GET', `/store/Post/${POST}?expand=author`, { token })
      assert.equal(mine.body.$expanded.author.plan, 'pro')
      assert.equal((await server.request('GET', paper, { token })).text, 'a paper')
      assert.deepEqual(JSON.parse(await readFile(join(folder, 'files.parse.ndjson'), 'utf8')), {
        from,
        to: paper,
      })
      assert.equal(
        (await server.request('PATCH', `/store/Post/${POST}`, { token: bob, body: { title: 'x' } })).status,
        403,
      )
      assert.equal(
        (await server.request('PATCH', `/store/Post/${POST}`, { token, body: { title: 'x' } })).status,
        200,
      )
      assert.equal((await server.request('GET', '/store/Note', { token: bob })).body.total, 0)
      const profile = (await server.request('GET', `/store/User/${ADA}`, { token })).body
      assert.deepEqual(Object.keys(profile).toSorted(), [
        '_id',
        'createdAt',
        'email',
        'emailVerified',
        'plan',
        'updatedAt',
        'username',
      ])
      await server.stop()

      // A title that was changed since stays.
      const again = reportOf(await sixwire(...words, '--json'))
      assert.deepEqual(
        [again.users.created, again.files.stored, again.collections.map(({ present }) => present)],
        [0, 0, [1, 1, 2, 3]],
      )
      const later = await start()
      assert.equal((await later.request('GET', `/store/Post/${POST}`)).body.title, 'x')
    })
})
