import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { createTransport } from 'nodemailer'
import type { Browser } from 'playwright-core'

import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { appForAll } from '../../server/src/testing/auth.ts'
import { launchChromium, withoutChromium } from '../../server/src/testing/chromium.ts'
import { someEngine, temporaryFolder, type Ending } from '../../server/src/testing/engines.ts'
import { freePort } from '../../server/src/testing/free-port.ts'
import { startProgram } from '../../server/src/testing/program.ts'

/** A page that listens, from the moment from which on no change escapes it. */
async function listen(t: Ending, url: string) {
  const gone = new AbortController()
  const response = await fetch(`${url}/sandbox/api/events`, { signal: gone.signal })
  t.after(async () => gone.abort())
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  /** Reads on until this was sent; forgets what is before it. */
  async function until(sent: string): Promise<void> {
    while (!text.includes(sent)) {
      const { value, done } = await reader.read()
      if (done) throw new Error(`the stream ended before ${JSON.stringify(sent)}`)
      text += value
    }
    text = text.slice(text.indexOf(sent) + sent.length)
  }
  await until('retry: 1000\n\n')
  return {
    headers: response.headers,
    until,
    change: (part: string) => until(`event: change\ndata: ${part}\n\n`),
    /** Resolves with the end of the stream; rejects if the connection was cut. */
    end: async (): Promise<void> => {
      while (!(await reader.read()).done);
    },
  }
}

async function sendMail(app: TestApp): Promise<void> {
  const { mail } = (await app.request('GET', '/sandbox/api')).body
  const mailer = createTransport(mail.variables.SMTP_URL)
  await mailer.sendMail({ from: mail.from, to: 'ada@example.com', text: 'x' })
  mailer.close()
}

someEngine((engine) => {
  describe('the events of the sandbox', () => {
    const app = appForAll(engine, { sandbox: true })

    test('name each part that has changed', async (t) => {
      const { headers, change } = await listen(t, app().url)
      assert.equal(headers.get('content-type'), 'text/event-stream')
      assert.equal(headers.get('cache-control'), 'no-store')
      await sendMail(app())
      await change('inbox')
      const { token } = await app().register()
      const sms = { to: '+4915112345678', body: 'By SMS' }
      await app().request('POST', '/messaging/sms', { token, body: sms })
      await change('phone')
      await app().request('PATCH', '/sandbox/api/people/100000003', { body: { verified: true } })
      await change('people')
      await app().request('PUT', '/sandbox/api/faults/phone', { body: { error: 503 } })
      await change('providers')
      await app().request('DELETE', '/sandbox/api')
      await change('inbox')
    })

    test('tell every page, and of what another server on the same database has changed', async (t) => {
      const { databaseUrl } = app().app.settings
      const other = await startApp(t, engine, { sandbox: true, databaseUrl })
      const listeners = await Promise.all([app(), app(), other].map(({ url }) => listen(t, url)))
      await sendMail(other)
      await Promise.all(listeners.map(({ change }) => change('inbox')))
    })

    test('send a comment where nothing happens', async (t) => {
      const { until } = await listen(t, app().url)
      app().clock.advance(15_000)
      await until(':\n\n')
    })

    test('are for GET alone', async () => {
      assert.equal((await app().request('HEAD', '/sandbox/api/events')).status, 404)
    })
  })
})

describe('a server with an open event stream', () => {
  test('ends at SIGTERM, and ends the streams itself', async (t) => {
    const program = startProgram(t, ['start'], { folder: await temporaryFolder(t) })
    const { end } = await listen(t, await program.url())
    program.signal('SIGTERM')
    // After its patience of 30 seconds it would cut them.
    await end()
    assert.equal(await program.ended, 0)
  })

  describe('in a browser', { skip: withoutChromium }, () => {
    let browser: Browser
    before(async () => {
      browser = await launchChromium()
    })

    test('is missed by the page, which shows what is new once another one answers', async (t) => {
      const options = {
        folder: await temporaryFolder(t),
        environment: { PORT: String(await freePort()) },
      }
      const first = startProgram(t, ['start'], options)
      const url = await first.url()
      const page = await browser.newPage()
      t.after(() => page.close())
      await page.goto(`${url}/sandbox`)
      await page.getByText('No mail yet').waitFor()
      await first.kill()
      await page.getByText('The server does not answer').waitFor()

      const second = startProgram(t, ['start'], options)
      await second.url()
      const account = { email: 'ada@example.com', password: 'a long passphrase' }
      await fetch(`${url}/auth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(account),
      })
      await page.getByRole('link', { name: 'Confirm your email address' }).waitFor()
      await page.getByText('The server does not answer').waitFor({ state: 'hidden' })
    })
  })
})
