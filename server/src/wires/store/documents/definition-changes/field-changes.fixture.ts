import assert from 'node:assert/strict'

import type { TestApp } from '../../../../testing/app.ts'

export type Fields = Record<string, unknown>

/** Calls of an administrator about a collection. */
export const collectionOf = (app: TestApp, token: string, name = 'books') => {
  const path = `/store/collections/${name}`
  return {
    get: async () => (await app.request('GET', path, { token })).body,
    put: (body: unknown, query = '') => app.request('PUT', `${path}${query}`, { token, body }),
    remove: (ifMatch?: string) =>
      app.request('DELETE', path, {
        token,
        ...(ifMatch !== undefined && { headers: { 'if-match': ifMatch } }),
      }),
    create: async (body: unknown) => {
      const made = await app.request('POST', `/store/${name}`, { token, body })
      assert.equal(made.status, 201, made.text)
      return made.body
    },
    patch: (id: string, body: unknown) => app.request('PATCH', `/store/${name}/${id}`, { token, body }),
    list: async (query = '?sort=_id') => {
      const listed = await app.request('GET', `/store/${name}${query}`, { token })
      assert.equal(listed.status, 200, listed.text)
      return listed.body.data as Fields[]
    },
  }
}

/** Without what the server sets. */
export const fieldsOf = ({ _id, createdAt, updatedAt, ...fields }: Fields): Fields => fields
