// Cookies of sign-in that no server set, and as many attempts as a browser can begin at once.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { startApp } from '../../../../testing/app.ts'
import { someEngine } from '../../../../testing/engines.ts'
import { startOauthServer } from '../../../../testing/oauth-server.ts'
import { callbackOf, NAMES } from '../../../../testing/provider-login.ts'

describe('login cookies', () => {
  someEngine((engine) => {
    test('whatever the names of cookies are, a sign-in begins', async (t) => {
      const provider = await startOauthServer(t, callbackOf('idpb'))
      const app = await startApp(t, engine, { environment: { ...NAMES, ...provider.variables } })
      for (const odd of ['aaaa bbb', 'aaa\tbbbb', '((((((((']) {
        const names = [odd, 'AAAAAAA1', 'AAAAAAA2', 'AAAAAAA3'].map((id) => `__Host-sixwire_login_${id}=x`)
        const answered = await app.request('GET', '/auth/idpb', { headers: { cookie: names.join('; ') } })
        assert.equal(answered.status, 302, `${odd}: ${answered.text}`)
      }
    })
  })
})
