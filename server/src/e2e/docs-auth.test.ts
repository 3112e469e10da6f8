// The examples of docs/auth.md, as they stand: the commands in order, and the page in Chromium.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { Secret, TOTP } from 'otpauth'

import { loadConfig } from '../app.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { launchChromium, withoutChromium } from '../testing/chromium.ts'
import { someEngine } from '../testing/engines.ts'
import { applicationFolder, blocksOf, shell } from '../testing/examples.ts'
import { startScriptedServer } from '../testing/scripted-http.ts'

const PAGE = 'docs/auth.md'

/** Runs the first block of the page that has a text. */
async function run(app: TestApp, text: string, environment?: Record<string, string>) {
  const script = (await blocksOf(PAGE, 'sh')).find((block) => block.includes(text))
  assert.ok(script, `${PAGE} has a block with ${text}`)
  return JSON.parse(await shell(script, app, environment))
}

someEngine((engine) => {
  describe('docs/auth.md', () => {
    test('signs in with a password and with a code of an email', async (t) => {
      const app = await startApp(t, engine, { sandbox: true })
      assert.equal((await run(app, '/auth/register')).user.name, 'Ada')
      const { token: TOKEN, refreshToken: REFRESH_TOKEN } = await run(app, '/auth/login')
      assert.equal((await run(app, '/auth/me', { TOKEN })).user.email, 'ada@example.com')
      const { token } = await run(app, '/auth/refresh', { REFRESH_TOKEN })
      assert.equal((await run(app, '/auth/me', { TOKEN: token })).user.name, 'Ada')
      assert.match((await run(app, '/auth/magic-link')).message, /ada@example\.com/)
      const code = async () => {
        const { messages } = (await app.request('GET', '/sandbox/api/mail')).body
        return /^(\d{3}) ?(\d{3})$/m.exec(messages.map(({ text }: { text: string }) => text).join('\n'))
      }
      let found = await code()
      while (!found) found = await code()
      const CODE = `${found[1]}${found[2]}`
      assert.equal((await run(app, '/auth/verify-code', { CODE })).user.email, 'ada@example.com')
    })

    test('adds a second factor, and finishes sign-ins with it', async (t) => {
      const app = await startApp(t, engine, { sandbox: true })
      const { token: TOKEN } = await run(app, '/auth/register')
      const { secret } = await run(app, '-X POST localhost:3000/auth/totp', { TOKEN })
      const totp = new TOTP({ secret: Secret.fromBase32(secret) })
      const codeOfNow = () => {
        app.clock.advance(30_000)
        return totp.generate({ timestamp: app.clock.now() })
      }
      const { recoveryCodes } = await run(app, '/auth/totp/verify', { TOKEN, CODE: codeOfNow() })
      assert.equal(recoveryCodes.length, 10)
      const { error } = await run(app, '/auth/login')
      assert.equal(error.code, 'SECOND_FACTOR_REQUIRED')
      const CHALLENGE = error.details.challenge
      const answer = await run(app, '/auth/second-factor', { CHALLENGE, CODE: codeOfNow() })
      assert.deepEqual([answer.user.email, typeof answer.deviceToken], ['ada@example.com', 'string'])
      const confirmed = { TOKEN: answer.token, RECOVERY_CODE: recoveryCodes[0] }
      assert.match((await run(app, '/auth/confirm', confirmed)).message, /10 minutes/)
      const { message } = await run(app, '/auth/change-email', { TOKEN: answer.token })
      assert.match(message, /ada@new\.example\.com/)
      const [command] = (await blocksOf(PAGE, 'sh')).flatMap(
        (block) => /^npx sixwire user (remove-factors) (\S+)$/m.exec(block)?.slice(2) ?? [],
      )
      assert.equal(command, 'ada@example.com')
      await app.app.service('auth').users.removeFactors(command)
      assert.equal((await run(app, '/auth/login')).user.email, command)
    })

    test('manages accounts', async (t) => {
      const app = await startApp(t, engine, { sandbox: true })
      const { token: TOKEN } = await run(app, '/auth/register') // the first account is the administrator
      const { users } = await run(app, '/auth/users?q=', { TOKEN })
      assert.deepEqual([users.length, users[0].email], [1, 'ada@example.com'])
      const { user } = await run(app, 'grace@example.com', { TOKEN })
      const ID = user._id
      assert.equal(user.hasPassword, false)
      assert.equal((await run(app, '"role":"viewer"', { TOKEN, ID })).user.role, 'viewer')
      await app.app.service('auth').users.demote('grace@example.com')
      assert.equal((await run(app, 'grace@new.example.com', { TOKEN, ID })).user.emailVerified, false)
      assert.deepEqual(await run(app, '/auth/users/import', { TOKEN }), {
        created: 2,
        unchanged: 0,
        refused: 0,
        errors: [],
      })
      const { token, readOnly } = await run(app, '/impersonate', { TOKEN, ID })
      assert.equal(readOnly, true)
      assert.equal((await run(app, '/auth/me', { TOKEN: token })).user.email, 'grace@new.example.com')
    })

    test('requires a second factor by its configuration', async (t) => {
      const block = (await blocksOf(PAGE, 'ts')).find((one) => one.includes("secondFactor: 'required'"))
      const folder = await applicationFolder(t, { 'sixwire.config.ts': block! })
      const app = await startApp(t, engine, { config: await loadConfig(join(folder)) })
      const { token } = await app.register()
      const { required, dueAt } = (await app.request('GET', '/auth/factors', { token })).body
      assert.equal(required, true)
      assert.equal(Math.round((Date.parse(dueAt) - app.clock.now()) / 86_400_000), 14)
    })

    test('has a page that signs up and in with a passkey', { skip: withoutChromium }, async (t) => {
      const app = await startApp(t, engine)
      const [html] = await blocksOf(PAGE, 'html')
      const { port } = await startScriptedServer(t, (_, response) =>
        response
          .writeHead(200, { 'content-type': 'text/html' })
          .end(html!.replace('http://localhost:3000', app.url)),
      )
      const context = await (await launchChromium()).newContext()
      t.after(() => context.close())
      const page = await context.newPage()
      const devtools = await context.newCDPSession(page)
      await devtools.send('WebAuthn.enable')
      await devtools.send('WebAuthn.addVirtualAuthenticator', {
        options: {
          protocol: 'ctap2',
          transport: 'internal',
          hasResidentKey: true,
          hasUserVerification: true,
          isUserVerified: true,
          automaticPresenceSimulation: true,
        },
      })
      const url = `http://localhost:${port}/`
      await page.goto(url)
      await page.getByLabel('Email').fill('ada@example.com')
      await page.getByLabel('Password').fill('correct horse battery')
      await page.getByRole('button', { name: 'Create an account with a passkey' }).click()
      await page.getByText('Store these recovery codes:').waitFor()
      // Chromium's stand-in takes the passkey that is suggested.
      await page.goto(url)
      await page.getByText('Signed in as ada@example.com.').waitFor()
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
      await page.getByText('Signed in as ada@example.com.').waitFor()
    })
  })
})
