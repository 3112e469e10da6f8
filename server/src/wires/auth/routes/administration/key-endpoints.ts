import { errors } from '../../../../base/errors.ts'
import { Type } from '../../../../base/schema.ts'
import { json } from '../../../../http/bodies.ts'
import { pageOf, PageQuery, PageReply } from '../../../../http/page.ts'
import { answer, endpoint } from '../../../../http/route.ts'
import { Message, Time, UNCACHED } from '../schemas.ts'
import type { ServiceKey, ServiceKeys } from '../../sessions/service-keys.ts'
import { requireAdministrator } from './administrator.ts'

const KeyFields = {
  _id: Type.String(),
  name: Type.String(),
  scopes: Type.Array(Type.String()),
}

const KeySummary = Type.Object(
  {
    ...KeyFields,
    createdAt: Time,
    lastUsedAt: Type.Optional(
      Type.String({ format: 'date-time', description: 'To the minute. Absent if it was never used.' }),
    ),
    revokedAt: Type.Optional(Time),
  },
  { title: 'ServiceKey' },
)

const summaryOf = ({ id, name, scopes, createdAt, lastUsedAt, revokedAt }: ServiceKey) => ({
  _id: id,
  name,
  scopes,
  createdAt,
  ...(lastUsedAt !== null && { lastUsedAt }),
  ...(revokedAt !== null && { revokedAt }),
})

/** The endpoints of service keys. */
export const keyEndpoints = ({ serviceKeys }: { serviceKeys: ServiceKeys }) => ({
  list: endpoint(
    {
      summary: 'List service keys, newest first',
      description: 'Without the keys themselves, which are stored as hashes.',
      access: 'operator',
      query: Type.Object(PageQuery),
      reply: {
        200: Type.Object({ keys: Type.Array(KeySummary), ...PageReply }, { title: 'ServiceKeyPage' }),
      },
    },
    async ({ query }) => {
      const page = pageOf(query)
      const { keys, ...rest } = await serviceKeys.page(page)
      return { keys: keys.map(summaryOf), ...rest, limit: page.limit, offset: page.offset }
    },
  ),
  create: endpoint(
    {
      summary: 'Create a service key',
      description: 'The answer shows the key, once. By administrators only: a key cannot create other keys.',
      access: 'operator',
      proof: 'recent',
      sealed: true,
      body: json(
        Type.Object(
          {
            name: Type.String({ minLength: 1, maxLength: 100, pattern: '\\S', examples: ['backend'] }),
            scopes: Type.Array(Type.String({ maxLength: 100, examples: ['store:read'] }), {
              minItems: 1,
              maxItems: 100,
              description:
                '`*`, the name of a wire, that with `:read` for what changes nothing, or a scope of routes such as `pay:refund`.',
              examples: [['store:read', 'pay:refund']],
            }),
          },
          { title: 'CreateKeyRequest' },
        ),
      ),
      reply: {
        201: Type.Object(
          { ...KeyFields, key: Type.String({ description: 'Sent as "Authorization: Bearer sk_…".' }) },
          { title: 'CreatedKey' },
        ),
      },
    },
    async ({ body: { name, scopes }, caller, actor }) => {
      requireAdministrator(caller)
      const { id, key } = await serviceKeys.create(name, scopes, actor)
      return answer({ _id: id, name: name.trim(), scopes, key }, { headers: UNCACHED })
    },
  ),
  revoke: endpoint(
    {
      summary: 'Revoke a service key',
      description: 'At once, on every replica. It stays in the list.',
      access: 'operator',
      proof: 'recent',
      params: Type.Object({ id: Type.String({ examples: ['01arz3ndektsv4rrffq69g5fav'] }) }),
      reply: { 200: Message },
      errors: [errors.not_found],
    },
    async ({ params: { id }, actor }) => {
      await serviceKeys.revoke(id, actor)
      return { message: 'The key is revoked.' }
    },
  ),
})
