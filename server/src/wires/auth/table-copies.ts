import type { TableCopies } from '../../kernel/wire/table-copy.ts'

/** How tables of the accounts are copied that are not the same on both engines. */
export const AUTH_COPIES: TableCopies = {
  auth_user_search: { isLeftOut: true },
  // What accounts are found by on SQLite; PostgreSQL has an index.
  auth_user_places: {
    isLeftOut: true,
    after: {
      sqlite: [
        'insert into auth_user_places (user_id) select id from auth_users order by id',
        `insert into auth_user_search (rowid, text)
         select p.place, u.email_key || ' ' || coalesce(u.name_key, '')
         from auth_user_places p join auth_users u on u.id = p.user_id`,
      ],
    },
  },
}
