// The examples of docs/files.md run.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { loadConfig } from '../app.ts'
import { startApp } from '../testing/app.ts'
import { someEngine } from '../testing/engines.ts'
import { applicationFolder, blocksOf, importFile, shell } from '../testing/examples.ts'
import { startS3, startS3Proxy } from '../testing/s3-server.ts'

someEngine((engine) => {
  test('the files of docs/files.md are uploaded, found and opened', async (t) => {
    const app = await startApp(t, engine)
    const { token: TOKEN } = await app.register()
    const photo = `GIF89a${'.'.repeat(200)}`
    const [save, many, , open, link] = await blocksOf('docs/files.md', 'sh')
    const client = (await blocksOf('docs/files.md', 'ts')).find((block) => block.includes('six.upload'))
    const folder = await applicationFolder(t, {
      'photo.png': photo,
      'client.ts': `import { createClient } from 'sixwire/client'
        const six = createClient('${app.url}', { token: '${TOKEN}' })
        const photo = new File(['{"not":"JSON"}'], 'photo.json', { type: 'application/json' })
        ${client!}
        export { url, bytes }`,
    })
    const inFolder = (script: string, ID = '') => shell(`cd '${folder}'\n${script}`, app, { TOKEN, ID })
    const [upload, list] = save!.split(/\n\n/)
    const file = JSON.parse(await inFolder(upload!))
    assert.deepEqual([file.contentType, file.metadata], ['image/gif', { album: 'summer' }])
    assert.deepEqual(JSON.parse(await inFolder(list!)).files, [file])
    assert.equal(await inFolder(open!, file._id), photo.slice(0, 100))
    assert.equal(await readFile(join(folder, 'photo.jpg'), 'utf8'), photo)
    const { url } = JSON.parse(await inFolder(link!, file._id))
    assert.equal((await app.request('GET', url.replace(/^.*(?=\/store)/, ''))).text, photo)
    const isPublishing = (block: string) => block.includes('access=public')
    const publish = (await blocksOf('docs/files.md', 'sh')).find(isPublishing)!
    const [show, hide] = publish.split(/\n\n/)
    const shown = JSON.parse(await inFolder(show!))
    assert.equal((await app.request('GET', shown.url.replace(/^.*(?=\/store)/, ''))).text, photo)
    assert.equal(JSON.parse(await inFolder(hide!, shown._id)).access, 'private')
    await app.request('DELETE', `/store/files/${shown._id}`, { token: TOKEN })
    const { bytes } = await importFile(join(folder, 'client.ts'))
    assert.ok(bytes instanceof Blob)
    assert.deepEqual([await bytes.text(), bytes.type], ['{"not":"JSON"}', 'application/json'])
    const [count, remove] = many!.split(/\n\n/)
    const counted = JSON.parse(await inFolder(count!))
    assert.deepEqual(counted, { dryRun: true, files: 1, bytes: photo.length })
    assert.deepEqual(JSON.parse(await inFolder(remove!)), { ...counted, dryRun: false })
  })

  test('the product of docs/files.md shows its photo to everybody', async (t) => {
    const blocks = await blocksOf('docs/files.md', 'ts')
    const text = blocks.find((block) => block.includes('manuals'))!
    const config = await loadConfig(await applicationFolder(t, { 'sixwire.config.ts': text }))
    const app = await startApp(t, engine, { config })
    const { token: TOKEN } = await app.register()
    const scripts = await blocksOf('docs/files.md', 'sh')
    const upload = scripts[0]!.split(/\n\n/)[0]!
    const [write, list] = scripts.find((block) => block.includes('expand=photo'))!.split(/\n\n/)
    const folder = await applicationFolder(t, { 'photo.png': `GIF89a${'.'.repeat(200)}` })
    const { _id: ID } = JSON.parse(await shell(`cd '${folder}'\n${upload}`, app, { TOKEN }))
    await shell(write!, app, { TOKEN, ID })
    const [product] = JSON.parse(await shell(list!, app)).data
    const { url, _id } = product.$expanded.photo
    assert.equal(_id, ID)
    assert.equal((await app.request('GET', url.replace(/^.*(?=\/store)/, ''))).status, 200)

    const create = blocks.find((block) => block.includes('manuals: ['))!
    const client = await applicationFolder(t, {
      'client.ts': `import { createClient } from 'sixwire/client'
        const six = createClient('${app.url}', { token: '${TOKEN}' })
        const photo = new File(['GIF89a${'.'.repeat(200)}'], 'photo.gif')
        const manual = new File(['%PDF-1.7\\n'], 'manual.pdf')
        ${create}
        export { lamp }`,
    })
    const { lamp } = (await importFile(join(client, 'client.ts'))) as {
      lamp: { photo: string; manuals: string[] }
    }
    for (const [id, type] of [
      [lamp.photo, 'image/gif'],
      [lamp.manuals[0], 'application/pdf'],
    ])
      assert.equal((await app.request('GET', `/store/files/${id}`, { token: TOKEN })).body.contentType, type)
  })

  test('the link of docs/files.md takes a file without an account', async (t) => {
    const app = await startApp(t, engine)
    const { token: TOKEN } = await app.register()
    const blocks = await blocksOf('docs/files.md', 'sh')
    const [create, send] = blocks.find((block) => block.includes('upload-links'))!.split(/\n\n/)
    const folder = await applicationFolder(t, { 'passport.png': `GIF89a${'.'.repeat(200)}` })
    const { url } = JSON.parse(await shell(create!, app, { TOKEN }))
    const URL = url.replace(/^.*(?=\/store)/, app.url)
    const sent = JSON.parse(await shell(`cd '${folder}'\n${send!}`, app, { URL }))
    const { body } = await app.request('GET', `/store/files/${sent._id}`, { token: TOKEN })
    assert.deepEqual([body.originalName, body.metadata], ['passport.png', { request: 42 }])
  })

  test('the upload of docs/files.md that continues', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await app.register()
    const example = (await blocksOf('docs/files.md', 'ts')).find((block) => block.includes('tus-js-client'))
    const folder = await applicationFolder(t, {
      'client.mjs': `const [server, token] = ${JSON.stringify([app.url, token])}
        const file = Object.assign(Buffer.from('large'), { name: 'a.txt', type: 'text/plain' })
        ${example!.replace('tus-js-client', import.meta.resolve('tus-js-client'))}
        export { id }`,
    })
    const { id } = (await importFile(join(folder, 'client.mjs'))) as { id: string }
    const { body } = await app.request('GET', `/store/files/${id}`, { token })
    assert.deepEqual([body.originalName, body.size, body.metadata], ['a.txt', 5, { album: 'summer' }])
  })

  test('the upload of docs/files.md to a bucket', async (t) => {
    const { url: target, ...access } = await startS3(t)
    const { url: endpoint } = await startS3Proxy(t, target)
    const app = await startApp(t, engine, { config: { store: { s3: { ...access, endpoint } } } })
    const { token: TOKEN } = await app.register()
    const example = (await blocksOf('docs/files.md', 'ts')).find((block) => block.includes('direct: true'))
    const folder = await applicationFolder(t, {
      'video.mp4': 'x'.repeat(20_000_000),
      'client.ts': `import { createClient } from 'sixwire/client'
        const six = createClient('${app.url}', { token: '${TOKEN}' })
        const video = new File(['a video'], 'video.mp4')
        const show = (part: number) => part
        ${example!}
        export { _id }`,
    })
    const { _id } = (await importFile(join(folder, 'client.ts'))) as { _id: string }
    assert.equal((await app.request('GET', `/store/files/${_id}`, { token: TOKEN })).body.size, 7)

    const blocks = await blocksOf('docs/files.md', 'sh')
    const [create, put, get] = blocks.find((block) => block.includes('upload-direct'))!.split(/\n\n/)
    const run = (script: string, variables: Record<string, string>) =>
      shell(`cd '${folder}'\n${script}`, app, { TOKEN, ...variables })
    const { _id: UPLOAD, parts } = JSON.parse(await run(create!, {}))
    assert.equal(parts.length, 3)
    await run(put!, { URL: parts[0].url })
    const state = JSON.parse(await run(get!, { UPLOAD }))
    assert.deepEqual([state.offset, state.parts[0].number], [8_388_608, 2])
  })
})
