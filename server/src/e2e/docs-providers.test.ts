// The examples of docs/identity-providers.md.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'

import { loadConfig } from '../app.ts'
import { startApp } from '../testing/app.ts'
import { createBrowser } from '../testing/browser.ts'
import { someEngine } from '../testing/engines.ts'
import { applicationFolder, blocksOf, shell } from '../testing/examples.ts'
import { freePort } from '../testing/free-port.ts'
import { personOf } from '../testing/provider-login.ts'

const PAGE = 'docs/identity-providers.md'

someEngine((engine) => {
  test('each configuration of docs/identity-providers.md starts, and the sandbox signs in', async (t) => {
    const [list, newKey] = await blocksOf(PAGE, 'sh')
    const variables = {
      COMPANY_CLIENT_ID: 'id',
      COMPANY_CLIENT_SECRET: 'secret',
      MICROSOFT_CLIENT_ID: 'id',
      MICROSOFT_CLIENT_SECRET: 'secret',
      APPLE_PRIVATE_KEY: await shell(newKey!, { url: 'http://localhost' } as never),
    }
    Object.assign(process.env, variables)
    t.after(() => {
      for (const name of Object.keys(variables)) Reflect.deleteProperty(process.env, name)
    })
    const port = String(await freePort())
    const names: string[][] = []
    for (const block of await blocksOf(PAGE, 'ts')) {
      const folder = await applicationFolder(t, {
        'sixwire.config.ts': block.replaceAll('localhost:3000', `localhost:${port}`),
      })
      const app = await startApp(t, engine, {
        sandbox: true,
        config: await loadConfig(join(folder)),
        environment: { PORT: port },
      })
      const { providers } = JSON.parse(await shell(list!, app)) as {
        providers: { name: string; url: string }[]
      }
      const own = providers.filter(({ name }) => !name.startsWith('idp'))
      names.push(own.map(({ name }) => name))
      if (block.includes('/sandbox/'))
        for (const { name, url } of own.filter((one) => one.name !== 'apple')) {
          const browser = createBrowser()
          const page = await browser.visit(`${url}?redirect=/path`)
          const returned = await browser.submit(page.url.href, { person: 'ada@example.com' })
          assert.equal((await personOf(app, returned)).email, 'ada@example.com', name)
        }
      await app.stop()
    }
    assert.deepEqual(names, [['company'], ['apple'], ['work'], ['company', 'work', 'apple']])
  })
})
