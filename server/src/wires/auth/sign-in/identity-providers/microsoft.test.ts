// Microsoft's accounts, at an issuer that answers with tokens of any tenant.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { microsoft } from './microsoft.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { endOfSuite, someEngine } from '../../../../testing/engines.ts'
import { startHostileIssuer, type HostileIssuer } from '../../../../testing/hostile-issuer.ts'
import { browserOf, CLIENT, NAMES, personOf, startOf } from '../../../../testing/provider-login.ts'

const CONTOSO = '11111111-aaaa-4bbb-8ccc-222222222222'
const FABRIKAM = '33333333-aaaa-4bbb-8ccc-444444444444'
const PERSONAL = '9188040d-6c67-4c5b-b112-36a304b66dad'

someEngine((engine) => {
  describe('sign-in with an account of Microsoft', () => {
    const ending = endOfSuite()
    /** Each issuer is one audience, as the address of the metadata says it. */
    const issuers: Record<string, HostileIssuer> = {}
    let app: TestApp
    before(async () => {
      for (const tenant of ['common', 'organizations', CONTOSO]) {
        const issuer = await startHostileIssuer(ending, CLIENT.id, {
          metadataAt: `/${tenant}/v2.0/.well-known/openid-configuration`,
        })
        issuer.discovery({ issuer: `${issuer.url}/${tenant === CONTOSO ? tenant : '{tenantid}'}/v2.0` })
        issuers[tenant] = issuer
      }
      const work = (tenant: string) => ({
        tenant,
        clientId: CLIENT.id,
        clientSecret: CLIENT.secret,
        authority: issuers[tenant]!.url,
      })
      app = await startApp(ending, engine, {
        environment: NAMES,
        config: {
          auth: {
            providers: {
              common: microsoft(work('common')),
              listed: microsoft({ ...work('common'), tenants: [CONTOSO.toUpperCase()] }),
              organizations: microsoft(work('organizations')),
              single: microsoft(work(CONTOSO)),
              trusted: microsoft({ ...work(CONTOSO), trustEmail: true }),
            },
          },
        },
      })
    })

    const AUDIENCE: Record<string, string> = { listed: 'common', single: CONTOSO, trusted: CONTOSO }

    /** Signs in with a token of a tenant. */
    function signIn(name: string, tid: unknown, claims: Record<string, unknown> = {}) {
      const issuer = issuers[AUDIENCE[name] ?? name]!
      issuer.forge({ claims: { iss: `${issuer.url}/${String(tid)}/v2.0`, tid, sub: 'pairwise', ...claims } })
      return browserOf(app).visit(startOf(`providers/${name}`))
    }

    test('is by the tenant and the subject, whatever the address', async () => {
      const claims = { email: 'ada@contoso.example', xms_edov: true, name: 'Ada' }
      const person = await personOf(app, await signIn('common', CONTOSO, claims))
      assert.deepEqual(
        [person.email, person.emailVerified, person.name],
        ['ada@contoso.example', true, 'Ada'],
      )
      const moved = { ...claims, email: 'moved@contoso.example' }
      assert.equal((await personOf(app, await signIn('common', CONTOSO, moved)))._id, person._id)
      const elsewhere = { ...claims, email: 'ada@fabrikam.example' }
      assert.notEqual((await personOf(app, await signIn('common', FABRIKAM, elsewhere)))._id, person._id)
    })

    test('needs a token whose issuer is its own tenant', async () => {
      const { url } = issuers['common']!
      for (const [what, claims] of [
        ['of another tenant', { iss: `${url}/${FABRIKAM}/v2.0` }],
        ['of the template', { iss: `${url}/{tenantid}/v2.0` }],
        ['of another issuer', { iss: `https://evil.example/${CONTOSO}/v2.0` }],
        ['without a tenant', { tid: undefined, iss: `${url}/undefined/v2.0` }],
        ['with a tenant that is a path', { tid: 'a/../b', iss: `${url}/a/../b/v2.0` }],
        ['with a tenant that is none', { tid: 'undefined', iss: `${url}/undefined/v2.0` }],
      ] as const) {
        const page = await signIn('common', CONTOSO, { email: 'x@contoso.example', ...claims })
        assert.deepEqual(page.fragment, { error: 'provider_error' }, what)
      }
    })

    test('is refused to tenants that are not listed, and to personal accounts of an audience without them', async () => {
      const claims = { sub: 'listed', email: 'listed@contoso.example', xms_edov: true }
      assert.deepEqual((await signIn('listed', FABRIKAM, claims)).fragment, { error: 'access_denied' })
      assert.ok((await signIn('listed', CONTOSO, claims)).fragment['token'])
      assert.deepEqual((await signIn('organizations', PERSONAL, claims)).fragment, { error: 'access_denied' })
      assert.deepEqual((await signIn('single', FABRIKAM, claims)).fragment, { error: 'provider_error' })
    })

    test('joins an account only by an address whose domain the tenant owns (nOAuth)', async () => {
      const owner = await app.register('owner@shop.example')
      await app.app.service('auth').users.verify('owner@shop.example')
      const claims = { sub: 'attacker', email: 'owner@shop.example', email_verified: true }
      for (const xms_edov of [undefined, false, 0, '0', 'false', null, {}, ['true']])
        for (const name of ['common', 'single']) {
          const page = await signIn(name, CONTOSO, { ...claims, xms_edov })
          assert.deepEqual(page.fragment, { error: 'account_exists' }, JSON.stringify(xms_edov))
        }
      for (const [at, xms_edov] of [true, 'true', 1, '1'].entries()) {
        const page = await signIn('common', CONTOSO, { ...claims, sub: `owner${at}`, xms_edov })
        assert.equal((await personOf(app, page))._id, owner._id)
      }
    })

    test('takes no address of the user info for verified by a claim of the ID token', async () => {
      await app.register('info@shop.example')
      await app.app.service('auth').users.verify('info@shop.example')
      const issuer = issuers['common']!
      issuer.forge({
        claims: { iss: `${issuer.url}/${CONTOSO}/v2.0`, tid: CONTOSO, sub: 'somebody', xms_edov: true },
        userinfo: { sub: 'somebody', email: 'info@shop.example', email_verified: true },
      })
      const page = await browserOf(app).visit(startOf('providers/common'))
      assert.deepEqual(page.fragment, { error: 'account_exists' })
    })

    test('joins by any address of the one tenant that the operator trusts', async () => {
      const owner = await app.register('member@contoso.example')
      await app.app.service('auth').users.verify('member@contoso.example')
      const claims = { sub: 'member', email: 'member@contoso.example' }
      assert.equal((await personOf(app, await signIn('trusted', CONTOSO, claims)))._id, owner._id)
    })

    test('is refused by metadata of another issuer', async () => {
      const impostor = issuers['organizations']!
      impostor.discovery({ issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0' })
      // What was read before is kept for an hour.
      app.clock.advance(3_600_000)
      assert.deepEqual((await signIn('organizations', CONTOSO)).fragment, { error: 'provider_error' })
      assert.match(app.log(), /the metadata are of another issuer/)
    })
  })
})
