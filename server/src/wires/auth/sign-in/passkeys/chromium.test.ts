// Passkeys in Chromium, whose virtual authenticator stands in for the person: https://www.w3.org/TR/webauthn-3/#sctn-automation
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { CDPSession, Page } from 'playwright-core'

import { startApp, type TestApp } from '../../../../testing/app.ts'
import type { Credential } from '../../../../testing/authenticator.ts'
import { launchChromium, withoutChromium } from '../../../../testing/chromium.ts'
import { endOfSuite, someEngine } from '../../../../testing/engines.ts'
import { optionsOf, sendAssertion } from '../../../../testing/passkeys.ts'
import { startScriptedServer } from '../../../../testing/scripted-http.ts'
import { challenged, finish } from '../../../../testing/second-factor.ts'

/** What a page of an application runs, with `api` and what a test passes. */
const PAGE = `<!doctype html><meta charset="utf-8"><title>Shop</title><input autocomplete="username webauthn"><script>
  async function call(method, path, body, token) {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: 'Bearer ' + token }) }
    const answer = await fetch(API + path, { method, headers, body: JSON.stringify(body) })
    return { status: answer.status, ...(await answer.json()) }
  }
  async function create(token) {
    const { options } = await call('POST', '/auth/passkeys/options', {}, token)
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
    const passkey = await navigator.credentials.create({ publicKey })
    return call('POST', '/auth/passkeys', { passkey: passkey.toJSON() }, token)
  }
  async function sign(options, request = {}) {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
    const passkey = await navigator.credentials.get({ publicKey, ...request })
    return passkey.toJSON()
  }
  async function signIn(request) {
    const { options } = await call('POST', '/auth/passkeys/sign-in-options', {})
    return call('POST', '/auth/passkeys/sign-in', { passkey: await sign(options, request) })
  }
</script>`

type Reply = {
  status: number
  user?: { _id: string }
  recoveryCodes?: string[]
  error?: { code: string }
}

describe('a passkey in Chromium', { skip: withoutChromium }, () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let app: TestApp
    let port: number
    let page: Page
    let devtools: CDPSession
    let authenticatorId: string
    let ada: { _id: string; email: string; token: string }
    before(async () => {
      const context = await (await launchChromium()).newContext()
      ending.after(() => context.close())
      page = await context.newPage()
      ;({ port } = await startScriptedServer(ending, (_, response) => {
        response
          .writeHead(200, { 'content-type': 'text/html' })
          .end(`<script>const API = ${JSON.stringify(app.url)}</script>${PAGE}`)
      }))
      // With localhost itself as the relying party, its pages at every port would be accepted.
      const passkeys = { rpId: 'shop.localhost', origins: [originOf('shop.localhost')] }
      app = await startApp(ending, engine, { config: { auth: { passkeys } } })
      await page.goto(originOf('shop.localhost'))
      devtools = await context.newCDPSession(page)
      await devtools.send('WebAuthn.enable')
      const added = await devtools.send('WebAuthn.addVirtualAuthenticator', {
        options: {
          protocol: 'ctap2',
          transport: 'internal',
          hasResidentKey: true,
          hasUserVerification: true,
          isUserVerified: true,
          automaticPresenceSimulation: true,
        },
      })
      authenticatorId = added.authenticatorId
      ada = await app.register()
    })

    const originOf = (host: string) => `http://${host}:${port}`

    const signInOptions = () => optionsOf(app, '/auth/passkeys/sign-in-options')

    /** What the browser answers to options of a sign-in, or the name of its error. */
    const sign = (options: object) =>
      page.evaluate<Credential | string>(
        `sign(${JSON.stringify(options)}).catch((error) => error.name)`,
      ) as Promise<Credential & string>

    /** What a call of the page answers, or the name of the error of the browser. */
    const run = (call: string) =>
      page.evaluate<Reply | string>(`${call}.catch((error) => error.name)`) as Promise<Reply & string>

    test('is created, and signs in without an address', async () => {
      const created = await run(`create(${JSON.stringify(ada.token)})`)
      assert.deepEqual([created.status, created.recoveryCodes?.length], [201, 10])
      const signedIn = await run('signIn()')
      assert.deepEqual([signedIn.status, signedIn.user?._id], [200, ada._id])
      assert.equal(await run(`create(${JSON.stringify(ada.token)})`), 'InvalidStateError', 'not twice')
    })

    test('is chosen from the list of a field', async () => {
      const signedIn = await run(`signIn({ mediation: 'conditional' })`)
      assert.deepEqual([signedIn.status, signedIn.user?._id], [200, ada._id])
    })

    test('can be put off, and used another time', async () => {
      await devtools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: false })
      assert.equal(await run('signIn({ signal: AbortSignal.timeout(300) })'), 'TimeoutError')
      await devtools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: true })
      await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
      assert.equal(await run('signIn()'), 'NotAllowedError', 'the wrong finger')
      await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
      assert.equal((await run('signIn()')).status, 200)
    })

    test('is refused on a page of another origin', async () => {
      await page.goto(originOf('evil.localhost'))
      assert.equal(await sign(await signInOptions()), 'SecurityError', 'by the browser')
      // Where the name of the relying party ends the name of the page, the browser signs.
      const origin = originOf('evil.shop.localhost')
      await page.goto(origin)
      const refused = await sendAssertion(app, await sign(await signInOptions()))
      assert.deepEqual([refused.status, refused.code], [401, 'INVALID_PASSKEY'], refused.text)
      assert.ok(app.log().includes(`its origin ${origin} is not accepted`))
      await page.goto(originOf('shop.localhost'))
      assert.equal((await run('signIn()')).status, 200)
    })

    test('is refused if its answer is sent again', async () => {
      const signed = await sign(await signInOptions())
      assert.equal((await sendAssertion(app, signed)).status, 200)
      const again = await sendAssertion(app, signed)
      assert.deepEqual([again.status, again.code], [401, 'INVALID_PASSKEY'])
    })

    test('is refused as the second factor of another account', async () => {
      const bob = await app.register()
      const list = async () =>
        (await devtools.send('WebAuthn.getCredentials', { authenticatorId })).credentials.map(
          ({ credentialId }) => credentialId,
        )
      const adas = await list()
      assert.equal((await run(`create(${JSON.stringify(bob.token)})`)).status, 201)
      const credentialId = (await list()).find((one) => !adas.includes(one))!
      const id = Buffer.from(credentialId, 'base64').toString('base64url')

      const challenge = await challenged(app, ada.email)
      const options = await optionsOf(app, '/auth/second-factor/passkey-options', { body: { challenge } })
      const bobs = await sign({ ...options, allowCredentials: [{ id, type: 'public-key' }] })
      assert.equal(bobs.id, id, JSON.stringify(bobs))
      const refused = await finish(app, { challenge, passkey: bobs })
      assert.deepEqual([refused.status, refused.code], [401, 'INVALID_PASSKEY'])
      assert.match(app.log(), /it is of another account/)
      const finished = await finish(app, { challenge, passkey: await sign(options) })
      assert.equal(finished.status, 200, finished.text)
      await devtools.send('WebAuthn.removeCredential', { authenticatorId, credentialId })
    })

    test('is refused if it was copied, once the original has signed more', async () => {
      const { credentials } = await devtools.send('WebAuthn.getCredentials', { authenticatorId })
      const [copy] = credentials
      assert.equal((await run('signIn()')).status, 200)
      await devtools.send('WebAuthn.removeCredential', {
        authenticatorId,
        credentialId: copy!.credentialId,
      })
      await devtools.send('WebAuthn.addCredential', { authenticatorId, credential: copy! })
      const refused = await run('signIn()')
      assert.deepEqual([refused.status, refused.error?.code], [401, 'INVALID_PASSKEY'])
    })
  })
})
