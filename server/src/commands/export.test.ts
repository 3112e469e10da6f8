import assert from 'node:assert/strict'
import { cp, mkdir, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'

import { isoTime } from '../base/clock.ts'
import { startApp } from '../testing/app.ts'
import { login } from '../testing/auth.ts'
import { runHere } from '../testing/command.ts'
import { eachEngine, temporaryFolder, testOnOne } from '../testing/engines.ts'
import { blocksOf } from '../testing/examples.ts'
import { startS3 } from '../testing/s3-server.ts'
import { addAuthenticator } from '../testing/second-factor.ts'
import { TEST_SECRET } from '../testing/templates.ts'
import { upload } from '../wires/store/files/content/file-content.fixture.ts'

const PRIVATE_KEY = `0x${'4c'.repeat(32)}`

type Line = Record<string, unknown>

const linesOf = async (file: string): Promise<Line[]> =>
  (await readFile(file, 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)

eachEngine((engine) => {
  test('what is exported while the server runs can be imported elsewhere, and people sign in as before', async (t) => {
    const installation = async () => {
      const [folder, databaseUrl] = [await temporaryFolder(t), await engine.migratedUrl()]
      const environment = {
        DATABASE_URL: databaseUrl,
        SIXWIRE_SECRET: TEST_SECRET,
        DATA_DIR: folder,
        LOG_LEVEL: 'silent',
      }
      return {
        folder,
        sixwire: (...words: string[]) => runHere(words, { folder, environment }),
        start: () => startApp(t, engine, { databaseUrl, environment: { DATA_DIR: folder } }),
      }
    }
    const old = await installation()
    const app = await old.start()
    const { token, _id: owner, email, password } = await app.register()
    await app.app.service('auth').users.promote(email)
    const { body: book } = await app.request('POST', '/store/books', { token, body: { title: 'Momo', n: 1 } })
    const kept = await upload(app, token, { name: 'a/b: c.txt', bytes: 'some bytes' })
    const lost = await upload(app, token, { bytes: 'other bytes' })
    const wallet = await app.request('POST', '/onchain/wallets/import', {
      token,
      body: { privateKey: PRIVATE_KEY, name: 'Till' },
    })
    assert.equal(wallet.status, 201, wallet.text)
    const { secret: totpSecret } = await addAuthenticator(app, token)

    const dir = join(old.folder, 'all')
    await mkdir(join(old.folder, 'all.part/files'), { recursive: true })
    const whole = await old.sixwire('export', 'all', '--all', '--secrets')
    assert.equal(whole.code, 0, whole.errors + whole.output)
    assert.match(whole.output, /^\d+ files are in all; its README\.md says what is what\.\n$/)
    assert.match(await readFile(join(dir, 'README.md'), 'utf8'), /\| `users\.ndjson` \| 1 \|/)
    assert.equal((await stat(dir)).mode & 0o777, 0o700)
    const [exportedWallet] = await linesOf(join(dir, 'onchain/wallets.ndjson'))
    assert.deepEqual(
      [exportedWallet!['privateKey'], exportedWallet!['keyReference']],
      [PRIVATE_KEY, undefined],
    )
    const [user] = await linesOf(join(dir, 'users.ndjson'))
    assert.deepEqual([user!['role'], user!['totpSecret']], ['admin', totpSecret])
    assert.deepEqual(await linesOf(join(dir, 'documents/books.ndjson')), [{ $owner: owner, ...book }])
    const audited = (await linesOf(join(dir, 'sixwire/audit.ndjson'))).at(-1)
    assert.deepEqual([audited!['action'], audited!['after']], ['installation.exported', { secrets: true }])

    const other = await installation()
    await cp(dir, join(other.folder, 'everything'), { recursive: true, preserveTimestamps: true })
    const [exporting, importing] = await blocksOf('docs/moving-out.md', 'sh')
    const words = importing!.trim().replace('npx sixwire ', '').split(' ')
    const dry = await other.sixwire(...words, '--dry-run', '--json')
    const expected = {
      users: { created: 1, unchanged: 0, refused: 0 },
      files: { stored: 2, present: 0, failed: 0 },
      collections: [{ name: 'books', created: 1, present: 0, refused: 0 }],
    }
    assert.partialDeepStrictEqual(JSON.parse(dry.output), expected)
    const imported = await other.sixwire(...words)
    assert.equal(imported.code, 0, imported.errors + imported.output)
    assert.match(
      imported.output,
      /^- the records in auth, onchain, sixwire are for reading: "sixwire archive"/m,
    )
    const repeated = await other.sixwire(...words, '--json')
    assert.partialDeepStrictEqual(JSON.parse(repeated.output), {
      users: { created: 0, unchanged: 1 },
      files: { stored: 0, present: 2 },
      collections: [{ created: 0, present: 1 }],
    })

    const copy = await other.start()
    const entered = await login(copy, email, password)
    assert.match(entered.text, /"SECOND_FACTOR_REQUIRED".*"factors":\["totp"\]/)
    const { transfer, files } = copy.app.service('store')
    const read = await transfer.export('books', { format: 'ndjson', owners: true })
    assert.deepEqual(JSON.parse(await text(read)), { $owner: owner, ...book })
    const record = await files.get(kept._id, { rows: 'all' })
    assert.deepEqual(
      [record.original_name, record.owner, record.sha256, isoTime(record.created_at)],
      ['b: c.txt', owner, kept.sha256, kept.createdAt],
    )

    const again = await other.sixwire(...exporting!.trim().replace('npx sixwire ', '').split(' '))
    assert.deepEqual(
      [again.code, again.errors],
      [1, 'sixwire: everything is not empty: name another folder\n'],
    )
    await mkdir(join(old.folder, 'place'))
    await symlink('place', join(old.folder, 'link'))
    const linked = await old.sixwire('export', 'link', '--all')
    assert.equal(linked.errors, 'sixwire: link is a link or a mounted disk: name a folder in it\n')
    const nowhere = await runHere(['export', 'none', '--all'], {
      folder: other.folder,
      environment: { DATABASE_URL: 'sqlite:none.db' },
    })
    assert.match(nowhere.errors, /^sixwire: there is no database \S+none\.db/)
    await rm(join(old.folder, 'uploads'), { recursive: true })
    await mkdir(join(old.folder, 'uploads'))
    await writeFile(join(old.folder, 'uploads/x'), '')
    const holed = await old.sixwire('export', 'holed', '--all')
    assert.equal(holed.code, 1)
    assert.match(holed.output, new RegExp(`\\n${lost._id} \\(.*\\): its bytes are missing\\n`))
    assert.match(await readFile(join(old.folder, 'holed/README.md'), 'utf8'), /## What is missing/)
    assert.equal((await linesOf(join(old.folder, 'holed/documents/books.ndjson'))).length, 1)
    assert.deepEqual(
      (await readdir(old.folder)).filter((name) => name.endsWith('.part')),
      [],
    )
  })

  testOnOne(engine)('files in a bucket are exported as those in a folder', async (t) => {
    const { url, bucket, accessKeyId, secretAccessKey } = await startS3(t)
    const folder = await temporaryFolder(t)
    const environment = {
      DATABASE_URL: await engine.migratedUrl(),
      SIXWIRE_SECRET: TEST_SECRET,
      DATA_DIR: folder,
      S3_ENDPOINT: url,
      S3_BUCKET: bucket,
      S3_ACCESS_KEY_ID: accessKeyId,
      S3_SECRET_ACCESS_KEY: secretAccessKey,
      LOG_LEVEL: 'silent',
    }
    const app = await startApp(t, engine, { databaseUrl: environment.DATABASE_URL, environment })
    const { token } = await app.register()
    const { _id } = await upload(app, token, { name: 'a.txt', bytes: 'in a bucket' })
    const { code, errors } = await runHere(['export', 'all', '--all'], { folder, environment })
    assert.equal(code, 0, errors)
    assert.equal(await readFile(join(folder, `all/files/${_id}-a.txt`), 'utf8'), 'in a bucket')
  })
})
