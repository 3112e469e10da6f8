// The files of an installation go along with a move: from a folder to a bucket, to another place in it, and back to a folder.
import assert from 'node:assert/strict'
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { sql } from '../db/sql.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { runHere } from '../testing/command.ts'
import { eachEngine, temporaryFolder, type Engine } from '../testing/engines.ts'
import { startProgram } from '../testing/program.ts'
import { startS3, startS3Proxy, type S3Proxy } from '../testing/s3-server.ts'
import { TEST_SECRET } from '../testing/templates.ts'
import { until } from '../testing/until.ts'

const TEXTS = ['the bytes of a file', 'x'.repeat(300_000), 'y']

/** A folder with the configuration of an installation, and the environment that its commands and servers have. */
async function place(
  t: TestContext,
  databaseUrl: string,
  {
    bucket = {},
    prefix,
    dataDir,
  }: { bucket?: Record<string, string>; prefix?: string; dataDir?: string } = {},
) {
  const folder = await temporaryFolder(t)
  const config = prefix === undefined ? {} : { store: { s3: { prefix } } }
  await writeFile(join(folder, 'sixwire.config.mjs'), `export default ${JSON.stringify(config)}`)
  const environment = {
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDir ?? join(folder, 'data'),
    SIXWIRE_SECRET: TEST_SECRET,
    SIXWIRE_SANDBOX: 'off',
    ...bucket,
  }
  const start = (engine: Engine) => startApp(t, engine, { config, databaseUrl, environment })
  return { folder, environment, start }
}

async function upload(app: TestApp, token: string, text: string): Promise<string> {
  const body = new FormData()
  body.append('file', new Blob([text]), 'a.txt')
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${app.url}/store/upload`, { method: 'POST', body, headers })
  return ((await answer.json()) as { _id: string })._id
}

async function textsOf(app: TestApp, token: string, files: readonly string[]): Promise<string[]> {
  const texts: string[] = []
  for (const id of files) texts.push((await app.request('GET', `/store/files/${id}/content`, { token })).text)
  return texts
}

async function bucketOf(t: TestContext): Promise<{ proxy: S3Proxy; bucket: Record<string, string> }> {
  const server = await startS3(t)
  const proxy = await startS3Proxy(t, server.url)
  const { accessKeyId, secretAccessKey } = server
  return {
    proxy,
    bucket: {
      S3_ENDPOINT: proxy.url,
      S3_BUCKET: 'shop',
      S3_ACCESS_KEY_ID: accessKeyId,
      S3_SECRET_ACCESS_KEY: secretAccessKey,
    },
  }
}

const asNew = ({ S3_BUCKET: _, ...reached }: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(reached).map(([name, value]) => [`NEW_${name}`, value]))

eachEngine((engine) => {
  test('files go from a folder to a bucket, to another prefix, and into a folder', async (t) => {
    const { bucket } = await bucketOf(t)
    let here = await place(t, await engine.freshUrl())
    let app = await here.start(engine)
    const { token } = await app.register()
    const files: string[] = []
    for (const text of TEXTS) files.push(await upload(app, token, text))
    const dataDir = await temporaryFolder(t)
    for (const [to, more, next] of [
      ['s3://shop/one', asNew(bucket), { bucket, prefix: 'one/' }],
      ['s3://shop/two/deep', {}, { bucket, prefix: 'two/deep/' }],
      [dataDir, {}, { dataDir }],
    ] as const) {
      const url = await engine.freshUrl()
      const { folder, environment } = here
      const moved = await runHere(['move', '--to', url, '--wait', '0', '--files', to], {
        folder,
        environment: { ...environment, ...more },
      })
      assert.equal(moved.code, 0, moved.errors)
      assert.match(moved.output, /\n3 files \(293\.0 KB\) are in the other place; 3 were copied now\.\nSet /)
      assert.ok(!moved.output.includes(`SECRET_ACCESS_KEY=${bucket['S3_SECRET_ACCESS_KEY']}`))
      await app.stop()
      here = await place(t, url, next)
      app = await here.start(engine)
      assert.deepEqual(await textsOf(app, token, files), TEXTS)
    }
  })

  test('a copy of files that failed or was killed is finished by the same command, and copies none twice', async (t) => {
    const { proxy, bucket } = await bucketOf(t)
    const { folder, environment, start } = await place(t, await engine.freshUrl())
    const app = await start(engine)
    const { token } = await app.register()
    const files = [await upload(app, token, 'one'), await upload(app, token, 'two')]
    const url = await engine.freshUrl()
    const words = ['move', '--to', url, '--wait', '0', '--files', 's3://shop']
    const run = { folder, environment: { ...environment, ...asNew(bucket) } }
    // Behind the two of the trial of the bucket.
    proxy.fault({ name: 'PutObject', at: 2, hang: true })
    const program = startProgram(t, words, run)
    await until(() => proxy.calls.filter((name) => name === 'PutObject').length >= 3)
    await program.kill()
    proxy.heal()
    proxy.fault({ name: 'PutObject', at: 3, answer: { status: 403, code: 'AccessDenied' } })
    const failed = await runHere(words, run)
    assert.equal(failed.code, 1, failed.output)
    // The old one was not closed.
    files.push(await upload(app, token, 'three'))
    proxy.heal()
    const moved = await runHere(words, run)
    assert.equal(moved.code, 0, moved.errors)
    assert.match(moved.output, /\n3 files \(11 bytes\) are in the other place; 2 were copied now\.\n/)
    await app.stop()
    const next = await place(t, url, { bucket })
    assert.deepEqual(await textsOf(await next.start(engine), token, files), ['one', 'two', 'three'])
  })

  test('a file whose bytes are missing is named, and nothing is moved', async (t) => {
    const { folder, environment, start } = await place(t, await engine.freshUrl())
    const app = await start(engine)
    const { token } = await app.register()
    const id = await upload(app, token, 'soon gone')
    const { object } = (await app.app.db.get(sql<{ object: string }>`select object from store_files`))!
    await rm(join(environment.DATA_DIR, 'uploads', object.slice(-2), object))
    const moved = await runHere(
      ['move', '--to', await engine.freshUrl(), '--wait', '0', '--files', join(folder, 'other')],
      { folder, environment },
    )
    assert.equal(
      moved.errors,
      `sixwire: the bytes of the file ${id} are missing: put the object ${object} back, or delete the file\n`,
    )
    await upload(app, token, 'it still takes files')
  })

  test('a secret that is a file goes into the new data folder, and never over another one', async (t) => {
    const { folder, environment } = await place(t, await engine.migratedUrl())
    const dataDir = await temporaryFolder(t)
    const run = { folder, environment: { ...environment, SIXWIRE_SECRET: '' } }
    const words = ['move', '--to', await engine.freshUrl(), '--wait', '0', '--files', dataDir]
    await writeFile(join(dataDir, 'secret'), 'that of another installation')
    const refused = await runHere(words, run)
    assert.match(
      refused.errors,
      /^sixwire: \S+secret exists already, and has another secret: name another place\n$/,
    )
    await rm(join(dataDir, 'secret'))
    const moved = await runHere(words, run)
    assert.equal(moved.code, 0, moved.errors)
    const secret = await readFile(join(environment.DATA_DIR, 'secret'), 'utf8')
    assert.equal(await readFile(join(dataDir, 'secret'), 'utf8'), secret)
    assert.equal((await stat(join(dataDir, 'secret'))).mode & 0o777, 0o600)
    assert.ok(!moved.output.includes(secret))
  })
})
