// The alert rules of docs/alerts.yml in a real Prometheus, where it is installed (Debian: prometheus).
import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { sql } from '../db/sql.ts'
import { startApp } from '../testing/app.ts'
import { eachEngine, temporaryFolder } from '../testing/engines.ts'
import { blocksOf } from '../testing/examples.ts'
import { freePort } from '../testing/free-port.ts'

const run = promisify(execFile)
const RULES = fileURLToPath(new URL('../../../docs/alerts.yml', import.meta.url))
const skip = spawnSync('prometheus', ['--version']).error ? 'needs prometheus on this machine' : false

type Rule = { name: string; health: string; lastError?: string; alerts: { state: string }[] }

eachEngine((engine) => {
  test(
    'Prometheus takes the configuration and the rules, and alerts of a failed job',
    { skip },
    async (t) => {
      await run('promtool', ['check', 'rules', RULES])
      const app = await startApp(t, engine)
      await app.app.db.write(sql`
      insert into sixwire_jobs (id, kind, payload, state, run_at, attempts, created_at)
      values ('a', 'of.nobody', 'null', 'failed', 5000, 9, 5000)`)
      const folder = await temporaryFolder(t)
      const [block] = await blocksOf('docs/operations.md', 'yaml')
      const scrape = block!.replace('localhost:3000', new URL(app.url).host.replace('127.0.0.1', 'localhost'))
      const frame = `global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\n${scrape.replace('alerts.yml', RULES)}`
      await writeFile(join(folder, 'prometheus.yml'), frame)
      const port = await freePort()
      const words = [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ]
      const prometheus = spawn('prometheus', words, { stdio: 'ignore' })
      t.after(async () => {
        if (prometheus.exitCode === null && prometheus.kill()) await once(prometheus, 'exit')
      })
      for (;;) {
        const rules = await rulesOf(port)
        assert.deepEqual(
          rules.filter(({ health }) => health === 'err'),
          [],
        )
        const failed = rules.find(({ name }) => name === 'SixwireJobsFailed')
        const isAlerting = failed?.alerts.some(({ state }) => state === 'firing')
        if (isAlerting && rules.length > 10 && rules.every(({ health }) => health === 'ok')) break
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
      const down = (await rulesOf(port)).find(({ name }) => name === 'SixwireDown')
      assert.deepEqual(down!.alerts, [], 'the server is scraped')
    },
  )
})

async function rulesOf(port: number): Promise<Rule[]> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/rules`).catch(() => undefined)
  if (!answer?.ok) return []
  const { data } = (await answer.json()) as { data: { groups: { rules: Rule[] }[] } }
  return data.groups.flatMap(({ rules }) => rules)
}
