import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { sql } from '../../server/src/db/sql.ts'
import { appForAll } from '../../server/src/testing/auth.ts'
import { withoutChromium } from '../../server/src/testing/chromium.ts'
import { checkLooks, openConsole, type ConsolePage } from '../../server/src/testing/console.ts'
import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'
import { until } from '../../server/src/testing/until.ts'

const HOSTILE = `<img src=x onerror="alert(1)"> \u202eexe.doc`

// Of an account that is gone: the job is done as soon as it is retried.
const PAYLOAD = '{"userId":"u1","at":0,"template":"password-changed","details":{}}'

describe('the screen of jobs', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const app = appForAll(engine)
    const ending = endOfSuite()
    let admin: ConsolePage

    const put = (id: string, error = 'The mail server is down') =>
      app().app.db.write(sql`
        insert into sixwire_jobs (id, kind, payload, state, run_at, attempts, last_error, created_at)
        values (${id}, 'auth.notice', ${PAYLOAD}, 'failed', 0, 9, ${error}, 0)`)
    const stateOf = async (id: string): Promise<string | undefined> =>
      (await app().app.db.get<{ state: string }>(sql`select state from sixwire_jobs where id = ${id}`))?.state
    const rows = () => admin.page.getByRole('link', { name: 'auth.notice' })

    before(async () => {
      for (const id of ['one', 'two/2', 'three']) await put(id)
      await put('hostile', HOSTILE)
      admin = await openConsole(ending, app(), { at: '#/jobs?state=failed' })
      await rows().first().waitFor()
    })

    test('lists them with their errors, and looks well', async () => {
      assert.equal(await rows().count(), 4)
      await admin.page.getByText('U+202E').first().waitFor()
      await checkLooks(admin.page, 'failed jobs')
    })

    test('shows one with its payload, and retries it', async () => {
      const { page } = admin
      await admin.go(`#/jobs/${encodeURIComponent('two/2')}?state=failed`)
      const pane = page.getByRole('region', { name: 'Details' })
      await pane.getByText('The mail server is down').waitFor()
      await pane.getByText('"u1"').waitFor()
      await checkLooks(page, 'a failed job')
      await pane.getByRole('button', { name: 'Retry' }).click()
      await page.getByText('The job is ready again.').first().waitFor()
      await until(async () => (await stateOf('two/2')) === undefined)
    })

    test('discards one after a question', async () => {
      const { page } = admin
      await admin.go('#/jobs/three?state=failed')
      await page.getByRole('region', { name: 'Details' }).getByRole('button', { name: 'Discard…' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
      await page.getByText('The job is discarded.').first().waitFor()
      assert.equal(await stateOf('three'), undefined)
    })

    test('retries all that match, once their number is typed', async () => {
      const { page } = admin
      await page.getByRole('button', { name: 'Retry all failed…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('heading', { name: 'Retry 2 failed jobs?' }).waitFor()
      const button = dialog.getByRole('button', { name: 'Retry all' })
      assert.equal(await button.isDisabled(), true)
      await checkLooks(page, 'the question before all are retried')
      await dialog.getByRole('textbox').fill('2')
      await button.click()
      await page.getByText('2 jobs are ready again.').first().waitFor()
      await page.getByText('Nothing matches these filters.').waitFor()
    })

    test('lets a viewer look, and change nothing', async () => {
      await put('later')
      const viewer = await openConsole(ending, app(), { as: 'viewer', at: '#/jobs/later?state=failed' })
      const pane = viewer.page.getByRole('region', { name: 'Details' })
      await pane.getByText('The mail server is down').waitFor()
      assert.equal(await pane.getByRole('button', { name: 'Retry' }).isDisabled(), true)
      assert.equal(await pane.getByText('What it works on').count(), 0)
    })
  })
})
