import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'

import { startApp, type TestApp } from '../../../testing/app.ts'
import { endOfSuite, someEngine } from '../../../testing/engines.ts'
import { startS3, startS3Proxy, type S3Proxy } from '../../../testing/s3-server.ts'
import { upload } from '../files/files.fixture.ts'
import { until } from '../../../testing/until.ts'

const HOUR_MS = 3_600_000

someEngine((engine) => {
  describe('files and backups in a bucket', () => {
    const ending = endOfSuite()
    let [app, token, proxy] = [{} as TestApp, '', {} as S3Proxy]
    let keys: (folder: 'uploads' | 'backups') => Promise<string[]>
    before(async () => {
      const { url, bucket, ...credentials } = await startS3(ending)
      proxy = await startS3Proxy(ending, url)
      app = await startApp(ending, engine, {
        config: { store: { s3: { prefix: 'shop-1/' } } },
        environment: {
          S3_ENDPOINT: proxy.url,
          S3_BUCKET: bucket,
          S3_ACCESS_KEY_ID: credentials.accessKeyId,
          S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
        },
      })
      token = (await app.register()).token
      const sdk = new S3Client({ region: 'us-east-1', endpoint: url, forcePathStyle: true, credentials })
      ending.after(async () => sdk.destroy())
      keys = async (folder) => {
        const { Contents = [] } = await sdk.send(new ListObjectsV2Command({ Bucket: bucket }))
        return Contents.map(({ Key = '' }) => Key).filter((key) => key.startsWith(`shop-1/${folder}/`))
      }
    })
    beforeEach(() => proxy.heal())
    const get = (path: string, headers = {}) => app.request('GET', path, { token, headers })

    test('a file is uploaded, read by ranges and deleted', async () => {
      const { status, body } = await upload(app, token, { bytes: 'a file in a bucket' })
      assert.equal(status, 201)
      assert.deepEqual(await keys('uploads'), [`shop-1/uploads/${body.filename}`])
      const content = `/store/files/${body._id}/content`
      assert.equal((await get(content)).text, 'a file in a bucket')
      const part = await get(content, { range: 'bytes=2-5' })
      assert.deepEqual([part.status, part.text], [206, 'file'])
      const { body: health } = await get('/store/health')
      assert.deepEqual(health.uploads, { provider: 's3', status: 'connected' })
      const removed = await app.request('DELETE', `/store/files/${body._id}`, { token })
      assert.equal(removed.status, 200)
      await until(async () => (await keys('uploads')).length === 0)
    })

    test('an upload that was cut off, and stored after it was removed, is removed again', async () => {
      const earlier = (await keys('uploads')).length
      const arrival = Promise.withResolvers<void>()
      proxy.fault({ name: 'PutObject', hold: arrival.promise })
      const client = new AbortController()
      const form = new FormData()
      form.set('file', new File(['a file in a bucket'], 'a.txt'))
      const sent = fetch(`${app.url}/store/upload`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: form,
        signal: client.signal,
      })
      await until(async () => proxy.calls.includes('PutObject'))
      client.abort()
      await assert.rejects(sent)
      await until(async () => proxy.calls.includes('DeleteObject'))
      await sleep(50)
      arrival.resolve()
      await until(async () => (await keys('uploads')).length === earlier + 1)
      await until(async () => {
        app.clock.advance(60_000)
        return (await keys('uploads')).length === earlier
      })
    })

    test('a backup is in the bucket, and restored from there', async () => {
      const { body: file } = await upload(app, token, { bytes: 'before' })
      const { status, body: backup } = await app.request('POST', '/store/backup', { token })
      assert.deepEqual([status, backup.status], [201, 'completed'])
      assert.ok((await keys('backups')).length === 1)
      await app.request('DELETE', `/store/files/${file._id}`, { token })
      const restored = await app.request('POST', `/store/backup/${backup._id}/restore`, { token })
      assert.equal(restored.status, 200, restored.text)
      assert.equal((await get(`/store/files/${file._id}/content`)).text, 'before')
    })

    test('a bucket that does not work is 503 for files, and nothing is left of them', async () => {
      const earlier = (await keys('uploads')).length
      const { body } = await upload(app, token)
      for (const name of ['PutObject', 'GetObject', 'HeadBucket', 'DeleteObject'])
        proxy.fault({ name, answer: { status: 403, code: 'AccessDenied' } })
      const failed = [await upload(app, token), await get(`/store/files/${body._id}/content`)]
      for (const { status, text, body } of failed) {
        assert.deepEqual([status, body.error.code], [503, 'UNAVAILABLE'])
        assert.doesNotMatch(text, /bucket|shop|127\.0\.0\.1|S3/)
      }
      app.clock.advance(11_000)
      const health = await get('/store/health')
      assert.deepEqual([health.status, health.body.uploads.status], [503, 'unhealthy'])
      assert.equal((await app.request('POST', '/store/books', { token, body: {} })).status, 201)
      proxy.heal()
      app.clock.advance(11_000)
      assert.equal((await get('/store/health')).status, 200)
      await app.request('DELETE', `/store/files/${body._id}`, { token })
      app.clock.advance(2 * HOUR_MS)
      await until(async () => (await keys('uploads')).length === earlier)
    })
  })
})
