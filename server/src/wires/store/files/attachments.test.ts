// A stored file as the attachment of an email, from the upload to a mail server.
import assert from 'node:assert/strict'
import { unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'

import { startApp, type TestApp } from '../../../testing/app.ts'
import { endOfSuite, someEngine, temporaryFolder } from '../../../testing/engines.ts'
import { startMailServer, type MailServer } from '../../../testing/mail-server.ts'
import { environmentOf } from '../../messaging/providers.fixture.ts'
import { upload } from './files.fixture.ts'

someEngine((engine) => {
  describe('a stored file', () => {
    let app: TestApp
    let mail: MailServer
    let folder: string
    let admin: { token: string; email: string }
    const ending = endOfSuite()
    before(async () => {
      folder = await temporaryFolder(ending)
      mail = await startMailServer(ending)
      app = await startApp(ending, engine, {
        environment: { ...environmentOf(mail), DATA_DIR: folder },
        config: { store: { fileAccess: 'owner' } },
      })
      admin = await app.register()
    })

    const send = (attachments: unknown[], token = admin.token) =>
      app.clock.through(
        app.request('POST', '/messaging/email', {
          token,
          body: { to: 'ada@example.com', subject: 'Hello', body: '<p>Hello</p>', attachments },
        }),
      )
    const messages = () => mail.received.filter(({ to }) => to.includes('ada@example.com'))

    test('is attached under its name, or another one', async () => {
      const bytes = new Uint8Array(Buffer.from('89504e470d0a1a0a0000000d4948445200', 'hex'))
      const { body: image } = await upload(app, admin.token, { bytes, name: 'Möwe.png' })
      const { body: text } = await upload(app, admin.token, { name: 'a.txt' })
      const sent = await send([
        { fileId: image._id },
        { fileId: text._id, filename: 'b.csv', contentType: 'text/csv' },
        { filename: 'c.txt', contentType: 'text/plain', content: 'Yw==' },
      ])
      assert.equal(sent.status, 200, sent.text)
      const { attachments } = messages().at(-1)!.parsed
      assert.deepEqual(
        attachments.map(({ filename, mimeType, content }) => [
          filename,
          mimeType,
          Buffer.from(content as ArrayBuffer).toString('hex'),
        ]),
        [
          ['Möwe.png', 'image/png', Buffer.from(bytes).toString('hex')],
          ['b.csv', 'text/csv', Buffer.from('hello').toString('hex')],
          ['c.txt', 'text/plain', '63'],
        ],
      )
    })

    test('that the caller may not read, or that is too large, is refused before anything is sent', async () => {
      const other = await app.register()
      const { body: mine } = await upload(app, admin.token)
      const { body: large } = await upload(app, admin.token, { bytes: new Uint8Array(500_000) })
      const sentBefore = messages().length
      const content = { filename: 'c.txt', contentType: 'text/plain', content: 'Yw==' }

      for (const [attachment, path] of [
        [{ fileId: '01arz3ndektsv4rrffq69g5fav' }, 'fileId'],
        [{ fileId: '../../etc/passwd' }, 'fileId'],
        [{ fileId: 5 }, 'fileId'],
        [{ fileId: mine._id, content: 'Yw==' }, 'fileId'],
        [{ fileId: mine._id, filename: 'a/b' }, 'filename'],
        [{}, 'content'],
        [{ content: 'Yw==' }, 'filename'],
        [{ content: 'Yw==', filename: 'a' }, 'contentType'],
      ] as const) {
        const { status, body, text } = await send([content, attachment])
        assert.equal(status, 400, text)
        assert.equal(body.error.details.issues[0].path, `/body/attachments/1/${path}`)
      }
      const theirs = await send([{ fileId: mine._id }], other.token)
      assert.equal(theirs.status, 400, theirs.text)
      assert.match(theirs.text, /you have no file with this id/)
      const { keys } = app.app.service('auth')
      for (const [scopes, status] of [
        [['messaging'], 403],
        [['messaging', 'store:read'], 200],
      ] as const) {
        const sent = await send(
          [{ fileId: (await upload(app, admin.token)).body._id }],
          (await keys.create('mailer', [...scopes])).key,
        )
        assert.equal(sent.status, status, sent.text)
      }
      const tooLarge = await send([{ fileId: large._id }, { fileId: large._id }])
      assert.deepEqual([tooLarge.status, tooLarge.body.error.code], [413, 'PAYLOAD_TOO_LARGE'])

      await unlink(join(folder, 'uploads', mine.filename.slice(-2), mine.filename))
      const lost = await send([{ fileId: mine._id }])
      assert.equal(lost.status, 500)
      assert.match(lost.text, /The bytes of file \w+ are missing in the storage/)
      assert.equal(messages().length, sentBefore + 1)
    })
  })

  test('without the wire store a fileId is refused', async (t) => {
    const mail = await startMailServer(t)
    const app = await startApp(t, engine, {
      environment: { ...environmentOf(mail), SIXWIRE_WIRES: 'core,messaging,auth' },
    })
    const token = (await app.app.service('auth').keys.create('test', ['messaging'])).key
    const { status, body } = await app.request('POST', '/messaging/email', {
      token,
      body: {
        to: 'ada@example.com',
        subject: 'Hello',
        body: '<p>Hello</p>',
        attachments: [{ fileId: '01arz3ndektsv4rrffq69g5fav' }],
      },
    })
    assert.equal(status, 400)
    assert.deepEqual(body.error.details.issues, [
      {
        path: '/body/attachments/0/fileId',
        message: 'the wire store is not loaded: send the content in base64',
      },
    ])
  })
})
