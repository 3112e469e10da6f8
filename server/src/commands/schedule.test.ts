import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { test } from 'node:test'

import { runHere } from '../testing/command.ts'
import { applicationFolder } from '../testing/program.ts'

const CONFIG = `
import { defineConfig } from 'sixwire'
export default defineConfig({
  schedule: {
    digest: { cron: '0 7 * * 1-5', timeZone: 'Europe/Zurich', run: async ({ log, due }) => log.info({ due }, 'digest') },
    tidy: { cron: '@hourly', missed: 'skip', run() {} },
  },
})`

test('sixwire schedule shows the next times, without a database', async (t) => {
  const folder = await applicationFolder(t, { 'sixwire.config.ts': CONFIG })
  const before = await readdir(folder)
  const text = await runHere(['schedule'], { folder })
  assert.equal(text.code, 0, text.errors)
  const lines = text.output.trim().split('\n')
  assert.equal(lines.length, 7)
  assert.match(lines[0]!, /^NAME +CRON +TIME ZONE +NEXT +UTC$/)
  assert.match(
    lines[1]!,
    /^digest +0 7 \* \* 1-5 +Europe\/Zurich +(Mon|Tue|Wed|Thu|Fri) \d{4}-\d\d-\d\d 07:00 +\S+T0[56]:00:00\.000Z$/,
  )
  const json = await runHere(['schedule', '--json'], { folder })
  const [digest, tidy] = JSON.parse(json.output)
  assert.deepEqual(
    { ...digest, next: digest.next.length },
    { name: 'digest', cron: '0 7 * * 1-5', timeZone: 'Europe/Zurich', missed: 'once', next: 3 },
  )
  assert.equal(Date.parse(tidy.next[1]) - Date.parse(tidy.next[0]), 3_600_000)
  assert.deepEqual(await readdir(folder), before)
})

test('sixwire config shows a schedule without its function', async (t) => {
  const folder = await applicationFolder(t, { 'sixwire.config.ts': CONFIG })
  const { output } = await runHere(['config', '--json'], { folder })
  const found = (JSON.parse(output) as { option: string; value: string; source: string }[])
    .filter(({ option }) => option.startsWith('schedule.'))
    .map(({ option, value, source }) => `${option} ${value} ${source}`)
  assert.deepEqual(found, [
    'schedule.digest.cron 0 7 * * 1-5 sixwire.config.ts',
    'schedule.digest.timeZone Europe/Zurich sixwire.config.ts',
    'schedule.digest.missed once default',
    'schedule.tidy.cron @hourly sixwire.config.ts',
    'schedule.tidy.timeZone UTC default',
    'schedule.tidy.missed skip sixwire.config.ts',
  ])
})

for (const command of ['schedule', 'config', 'check'])
  test(`sixwire ${command} refuses a schedule that never comes`, async (t) => {
    const folder = await applicationFolder(t, {
      'sixwire.config.ts': CONFIG.replace('@hourly', '0 0 30 2 *'),
    })
    const { code, errors } = await runHere([command], { folder })
    assert.equal(code, 1)
    assert.match(errors, /schedule\.tidy\.cron: "0 0 30 2 \*" never comes/)
  })
