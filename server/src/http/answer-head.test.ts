import assert from 'node:assert/strict'
import { test } from 'node:test'

import fastify from 'fastify'

import { completeHead } from './answer-head.ts'

test('an answer of a mounted plugin keeps its own headers, and has each cookie once', async (t) => {
  const engine = fastify()
  t.after(() => engine.close())
  engine.addHook('onRequest', (request, _reply, done) => {
    const headers = { 'content-security-policy': "default-src 'none'", vary: 'Origin', 'x-request-id': 'r1' }
    Object.assign(request, { flight: { headers } })
    done()
  })
  engine.addHook('onSend', completeHead)
  engine.get('/', (_request, reply) =>
    reply
      .header('set-cookie', 'a=1')
      .header('set-cookie', 'b=2')
      .header('vary', 'Accept')
      .header('content-security-policy', "default-src 'self'")
      .send('page'),
  )
  const { headers } = await engine.inject('/')
  assert.deepEqual(headers['set-cookie'], ['a=1', 'b=2'])
  assert.equal(headers['vary'], 'Origin, Accept')
  assert.equal(headers['content-security-policy'], "default-src 'self'")
  assert.equal(headers['x-request-id'], 'r1')
})
