// The calls of docs/changes.md answer what the page shows.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { loadConfig } from '../app.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { someEngine } from '../testing/engines.ts'
import { applicationFolder, blocksOf, shell } from '../testing/examples.ts'
import { until } from '../testing/until.ts'

/** A call of the page that goes on until the test ends, and what it has printed so far. */
function running(t: TestContext, script: string, app: TestApp, TOKEN: string): () => string {
  const child = spawn('bash', ['-c', `exec ${script.replaceAll('localhost:3000', new URL(app.url).host)}`], {
    env: { ...process.env, TOKEN },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill())
  let text = ''
  child.stdout.on('data', (part: Buffer) => void (text += part.toString()))
  return () => text
}

/** An event as a pattern: what ends or begins with … may be anything. */
const patternOf = (shown: string): RegExp =>
  new RegExp(
    shown
      .replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replaceAll(/\w*…,?/g, '.*')
      .trim(),
  )

someEngine((engine) => {
  test('the calls of docs/changes.md answer what they show', async (t) => {
    const app = await startApp(t, engine)
    const { token: TOKEN } = await app.register()
    const [follow, create, remove, watches, poll] = await blocksOf('docs/changes.md', 'sh')
    const [ready, put, gone, polled] = await blocksOf('docs/changes.md', 'text')
    const stream = running(t, follow!, app, TOKEN)
    await until(() => patternOf(ready!).test(stream()))
    const both = running(t, watches!, app, TOKEN)
    await until(() => both().includes('event: ready'))
    const first = await shell(poll!.split('\n# ')[0]!, app, { TOKEN })
    assert.match(first, patternOf(poll!.split('\n# ')[1]!))
    const { _id } = JSON.parse(await shell(create!, app, { TOKEN })) as { _id: string }
    await until(() => patternOf(put!).test(stream()))
    await until(() => both().includes('event: put'))
    const { cursor } = JSON.parse(first) as { cursor: string }
    const second = await shell(poll!.split('\n# ')[0]!.replace('tasks"', `tasks&cursor=${cursor}"`), app, {
      TOKEN,
    })
    assert.match(second, patternOf(polled!))
    await shell(remove!, app, { TOKEN, ID: _id })
    await until(() => patternOf(gone!).test(stream()))
  })

  test('the configuration of docs/changes.md starts', async (t) => {
    const [text] = await blocksOf('docs/changes.md', 'ts')
    const folder = await applicationFolder(t, { 'sixwire.config.ts': text! })
    const app = await startApp(t, engine, { config: await loadConfig(join(folder)) })
    const { token } = await app.register()
    const answer = await app.request('GET', '/store/changes?collection=measurements', { token })
    assert.equal(answer.status, 400)
  })
})
