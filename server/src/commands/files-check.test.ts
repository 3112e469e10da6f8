import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm, truncate, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { DeleteObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import sharp from 'sharp'

import type { Config } from '../app.ts'
import { newId } from '../base/ids.ts'
import { sql } from '../db/sql.ts'
import { startApp } from '../testing/app.ts'
import { runHere } from '../testing/command.ts'
import { eachEngine, someEngine, temporaryFolder, type Engine } from '../testing/engines.ts'
import { startS3 } from '../testing/s3-server.ts'
import { TEST_SECRET } from '../testing/templates.ts'
import { upload } from '../wires/store/files/files.fixture.ts'
import type { FileCheckReport } from '../wires/store/index.ts'

const DAY_MS = 86_400_000

/** A running server, and commands beside it. */
async function setUp(
  t: TestContext,
  engine: Engine,
  { more = {}, config = {} }: { more?: Record<string, string>; config?: Config } = {},
) {
  const databaseUrl = await engine.migratedUrl()
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'sixwire.config.mjs'), `export default ${JSON.stringify(config)}`)
  const app = await startApp(t, engine, { config, databaseUrl, environment: { DATA_DIR: folder, ...more } })
  const { token } = await app.register()
  const environment = {
    DATABASE_URL: databaseUrl,
    SIXWIRE_SECRET: TEST_SECRET,
    DATA_DIR: folder,
    LOG_LEVEL: 'silent',
    ...more,
  }
  const run = (...words: string[]) => runHere(words, { folder, environment })
  const report = async (...words: string[]): Promise<FileCheckReport> => {
    const { code, output, errors } = await run('files', 'check', '--json', ...words)
    assert.equal(errors, '')
    const found = JSON.parse(output) as FileCheckReport
    assert.equal(code, found.ok ? 0 : 1)
    return found
  }
  const doctor = async () => {
    const { checks } = JSON.parse((await run('doctor', '--json')).output) as {
      checks: { name: string; findings: { severity: string; problem: string }[] }[]
    }
    return checks.find(({ name }) => name === 'store: files')!.findings
  }
  const stored = async (bytes: string, name = 'a.txt') =>
    (await upload(app, token, { bytes, name })).body as { _id: string; filename: string }
  return { app, token, folder, run, report, doctor, stored }
}

/** Puts bytes into a folder as they would be there for so many days. */
async function put(path: string, bytes: string, days: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, bytes)
  const time = (Date.now() - days * DAY_MS) / 1000
  await utimes(path, time, time)
}

eachEngine((engine) => {
  test('sixwire files check finds what is lost and what nobody knows, and deletes the latter', async (t) => {
    const { app, token, folder, run, report, doctor, stored } = await setUp(t, engine)
    const pathOf = (key: string) => join(folder, 'uploads', key.slice(-2), key)
    const { db } = app.app

    // What is there for other reasons than files.
    const picture = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
      .png()
      .toBuffer()
    const image = await upload(app, token, { bytes: new Uint8Array(picture), type: 'image/png' })
    const resized = await app.request('GET', `/store/files/${image.body._id}/content?width=4`, { token })
    assert.equal(resized.status, 200)
    assert.equal((await app.request('POST', '/store/backup', { token })).status, 201)
    await db.batch([
      sql`insert into store_unclaimed (storage, key, state, due)
          values ('uploads', 'being-written', 'writing', ${Date.now() + DAY_MS})`,
      sql`insert into sixwire_exports (account, id, state, created_at, deleted_at)
          values ('somebody', 'one', 'running', 0, ${Date.now() + DAY_MS})`,
    ])
    await put(pathOf('being-written'), '12345', 2)
    await put(pathOf('export-one'), 'an archive', 2)
    const kept = await stored('kept')
    const whole = await report()
    assert.deepEqual(
      [whole.ok, whole.records, whole.lost.count, whole.lostVariants.count, whole.unused.count],
      [true, { file: 2, variant: 1, backup: 1 }, 0, 0, 0],
    )
    assert.deepEqual(whole.pending, { count: 2, bytes: 15 })
    assert.equal(whole.objects.count, 6)
    assert.ok(!('unattached' in whole), 'no collection has a field of files')
    assert.deepEqual(await doctor(), [])

    // Lost: a file, the end of another one, a resized image, a backup.
    const [lost, cut] = [await stored('these are gone', 'cat.txt'), await stored('cut off')]
    await rm(pathOf(lost.filename))
    await truncate(pathOf(cut.filename), 3)
    const [variant] = await db.all<{ object: string }>(sql`select object from store_variants`)
    await rm(pathOf(variant!.object))
    const [backup] = await db.all<{ id: string; object: string }>(sql`select id, object from store_backups`)
    await rm(join(folder, 'backups', backup!.object))
    // Unknown: of two days ago, one of them a part and one a backup, and of now.
    const [old, part, recent] = [newId(), newId(), newId()]
    await put(pathOf(old), 'nobody', 2)
    await put(join(dirname(pathOf(part)), `.${part}.part`), 'knows', 2)
    await put(join(folder, 'backups', `${old}.tar.zst`), 'these', 2)
    await put(pathOf(recent), 'yet', 0)
    const found = await report()
    assert.deepEqual(
      new Set(found.lost.first.map(({ kind, id, found }) => `${kind} ${id} ${found}`)),
      new Set([`backup ${backup!.id} null`, `file ${lost._id} null`, `file ${cut._id} 3`]),
    )
    assert.deepEqual([found.lost.count, found.lostVariants.count], [3, 1])
    assert.deepEqual(
      new Set(found.unused.first.map(({ key }) => key)),
      new Set([old, part, recent, `${old}.tar.zst`]),
    )
    assert.deepEqual([found.unused.count, found.unused.bytes, found.unused.recent], [4, 19, 1])
    const { code, output } = await run('files', 'check')
    assert.equal(code, 1)
    assert.match(output, /^ok {7}4 files, 1 resized image and 1 backup were looked for; \d+ objects \(/)
    assert.match(output, /^fault {4}3 records without the stored bytes$/m)
    assert.match(output, new RegExp(`^ {9}file ${lost._id}  "cat.txt"  of \\w+  uploads/\\w+  missing`, 'm'))
    assert.match(output, /3 bytes instead of 7$/m)
    assert.match(output, /^warning {2}4 objects \(19 bytes\) without a record$/m)
    const [finding] = await doctor()
    assert.match(finding!.problem, /^2 of 4 files that were looked for do not have their bytes$/)

    // Nothing is deleted while the folder may be that of another installation.
    const refused = await run('files', 'check', '--delete-unused')
    assert.match(refused.errors, /3 records .* nothing was deleted: see whether DATABASE_URL/)
    assert.equal(refused.code, 1)
    assert.ok(existsSync(pathOf(old)))

    for (const path of [`files/${lost._id}`, `files/${cut._id}`, `backups/${backup!.id}`])
      assert.equal((await app.request('DELETE', `/store/${path}`, { token })).status, 200)
    const cleaned = await report('--delete-unused')
    assert.deepEqual([cleaned.ok, cleaned.deleted], [true, { count: 3, bytes: 16 }])
    assert.deepEqual(
      [pathOf(old), pathOf(recent), pathOf('being-written'), pathOf('export-one'), pathOf(kept.filename)].map(
        (path) => existsSync(path),
      ),
      [false, true, true, true, true],
    )
    const after = await report()
    assert.deepEqual([after.unused.count, after.unused.recent], [1, 1])

    // A folder that is not mounted has lost nothing yet.
    await rename(join(folder, 'uploads'), join(folder, 'away'))
    const away = await run('files', 'check')
    assert.deepEqual([away.code, away.output], [1, ''])
    assert.match(away.errors, /ENOENT/)
    assert.match((await doctor())[0]!.problem, /^the files cannot be read: ENOENT/)
    await mkdir(join(folder, 'uploads'))
    assert.match((await doctor())[0]!.problem, /^none of 2 files that were looked for has its bytes$/)
  })
})

eachEngine((engine) => {
  test('sixwire files check finds the files that no document has in a field of files', async (t) => {
    const config: Config = {
      store: { collections: { products: { files: { photo: {}, photos: { max: 3 } } } } },
    }
    const { app, token, report, run, stored } = await setUp(t, engine, { config })
    const { db } = app.app
    const [photo, listed, never, left, undeclared, visible] = [
      await stored('photo'),
      await stored('listed'),
      await stored('never'),
      await stored('left'),
      await stored('undeclared'),
      await stored('public'),
    ]
    const product = await app.request('POST', '/store/products', {
      token,
      body: { photo: left._id, photos: [listed._id] },
    })
    assert.equal(product.status, 201, product.text)
    const changed = await app.request('PATCH', `/store/products/${product.body._id}`, {
      token,
      body: { photo: photo._id },
    })
    assert.equal(changed.status, 200, changed.text)
    await db.batch([
      sql`update store_files set created_at = ${Date.now() - 2 * DAY_MS}`,
      sql`update store_files set attached_by = 'old.photo' where id = ${undeclared._id}`,
      sql`update store_files set access = 'public' where id = ${visible._id}`,
    ])
    await stored('in a form that is not sent yet')
    const { ok, unattached } = await report()
    const { first, ...sums } = unattached!
    assert.deepEqual([ok, sums], [true, { count: 3, bytes: 19, released: 1, undeclared: 1 }])
    assert.deepEqual(
      new Map(first.map(({ id, attachedBy }) => [id, attachedBy])),
      new Map([
        [never._id, []],
        [left._id, ['products.photo']],
        [undeclared._id, ['old.photo']],
      ]),
    )
    const { output } = await run('files', 'check')
    assert.match(output, /^warning {2}3 files \(19 bytes\) that no document has in a field of files$/m)
    await db.write(sql`update store_indexes set state = 'failed' where collection = 'products'`)
    // The command has it built anew, which a server would do before it looks.
    await app.stop()
    assert.equal((await report()).unattached, null)
  })
})

someEngine((engine) => {
  test('sixwire files check lists a bucket', async (t) => {
    const { url, bucket, accessKeyId, secretAccessKey } = await startS3(t)
    const { report, stored } = await setUp(t, engine, {
      more: {
        S3_ENDPOINT: url,
        S3_BUCKET: bucket,
        S3_ACCESS_KEY_ID: accessKeyId,
        S3_SECRET_ACCESS_KEY: secretAccessKey,
      },
    })
    const credentials = { accessKeyId, secretAccessKey }
    const sdk = new S3Client({ region: 'us-east-1', endpoint: url, forcePathStyle: true, credentials })
    t.after(() => sdk.destroy())
    const [kept, lost] = [await stored('kept'), await stored('lost')]
    await sdk.send(new DeleteObjectCommand({ Bucket: bucket, Key: `uploads/${lost.filename}` }))
    await sdk.send(new PutObjectCommand({ Bucket: bucket, Key: 'uploads/nobodys', Body: 'unused' }))
    await sdk.send(new PutObjectCommand({ Bucket: bucket, Key: 'other/nobodys', Body: 'of another program' }))
    const found = await report()
    assert.notEqual(kept.filename, lost.filename)
    assert.deepEqual(
      [found.records.file, found.objects, found.lost.first.map(({ id }) => id)],
      [2, { count: 2, bytes: 10 }, [lost._id]],
    )
    assert.deepEqual(
      found.unused.first.map(({ key, size }) => [key, size]),
      [['nobodys', 6]],
    )
  })
})
