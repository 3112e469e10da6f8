import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Type } from '../base/schema.ts'
import { defineWire } from '../kernel/wire/wire.ts'
import { startApp } from '../testing/app.ts'
import { someEngine } from '../testing/engines.ts'
import { healthRoute, healthStatus } from './health-route.ts'

someEngine((engine) => {
  test('a health route answers 200 while its check resolves, else 503, with the other fields', async (t) => {
    let check: () => Promise<void> = async () => undefined
    const clinic = defineWire({
      name: 'clinic',
      setup: () => ({
        service: undefined,
        routes: [
          healthRoute(
            'GET /clinic/health',
            { title: 'ClinicHealth', summary: 'Check the clinic', fields: { beds: Type.Integer() } },
            async () => ({ status: await healthStatus(check), beds: 3 }),
          ),
          healthRoute(
            'GET /clinic/laboratory',
            { title: 'Laboratory', summary: 'Check the laboratory', fields: {}, isAlways200: true },
            async () => ({ status: await healthStatus(check) }),
          ),
        ] as const,
      }),
    })
    const app = await startApp(t, engine, { config: { wires: [clinic()] } })
    const ask = async () => {
      const { status, body } = await app.request('GET', '/clinic/health')
      return [status, body]
    }
    assert.deepEqual(await ask(), [200, { status: 'healthy', beds: 3 }])
    check = () => Promise.reject(new Error('closed'))
    assert.deepEqual(await ask(), [503, { status: 'unhealthy', beds: 3 }])
    check = () => {
      throw new Error('closed at once')
    }
    assert.deepEqual(await ask(), [503, { status: 'unhealthy', beds: 3 }])
    assert.deepEqual((await app.request('GET', '/clinic/laboratory')).body, { status: 'unhealthy' })
    assert.equal((await app.request('GET', '/clinic/laboratory')).status, 200)
    check = () => new Promise(() => undefined)
    assert.deepEqual(await ask(), [503, { status: 'unhealthy', beds: 3 }])
  })
})
