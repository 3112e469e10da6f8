import { sql, type Sql } from '../../../db/sql.ts'
import { createRecordAggregates } from '../../../kernel/aggregates/record-aggregates.ts'
import type { AdministrationParts } from './account.ts'

const isSql = (condition: Sql): Sql => sql`case when ${condition} then 1 else 0 end`

/** Groups of accounts. */
export const createAccountAggregates = ({ db, users }: Pick<AdministrationParts, 'db' | 'users'>) =>
  createRecordAggregates(
    { db },
    {
      records: 'users',
      title: 'UserGroup',
      table: sql.literal('auth_users'),
      columns: [
        {
          name: 'role',
          kind: 'text',
          value: users.roleSql(),
          values: ['user', 'viewer', 'admin'],
        },
        { name: 'emailVerified', kind: 'flag', value: isSql(sql`email_verified_at is not null`) },
        { name: 'disabled', kind: 'flag', value: isSql(sql`disabled_at is not null`) },
        {
          // The first of several.
          name: 'issuer',
          kind: 'text',
          value: sql`(select issuer from auth_identities where user_id = auth_users.id order by created_at, auth_identities.id limit 1)`,
        },
        { name: 'createdAt', kind: 'time', value: sql.literal('created_at') },
        { name: 'lastSignInAt', kind: 'time', value: sql.literal('last_sign_in_at') },
      ],
      example: { by: { role: 'user', emailVerified: true }, count: 12 },
    },
  )
