import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { login, PASSWORD } from '../../testing/auth.ts'
import { eachEngine } from '../../testing/engines.ts'
import { postgresUrl } from '../../testing/postgres.ts'
import {
  documentedWords,
  emptyApplication,
  OLD_PASSWORD,
  oldHash,
  reportOf,
  rowsOf,
} from '../imports.fixture.ts'
import { ADA, BOB, createProject, runStatements } from './supabase.fixture.ts'

const SECRET = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
const COVER = 'https://ref.supabase.co/storage/v1/object/public/covers/ada/caf%C3%A9.gif'

const project = (passwordHash: string): string => `
insert into auth.users (id, email, encrypted_password, email_confirmed_at, phone, phone_confirmed_at, raw_app_meta_data,
  raw_user_meta_data, created_at, banned_until, is_anonymous) values
  ('${ADA}', 'ada@example.com', '${passwordHash}', '2024-05-01Z', '4915112345678', '2024-05-01Z',
    '{"provider":"email","providers":["email"],"plan":"pro"}', '{"full_name":"Ada","theme":"dark"}', '2024-05-01T10:00:00.123456Z', null, false),
  ('${BOB}', 'bob@example.com', '${passwordHash}', null, '4915199999999', null, '{}', '{}', '2024-05-02Z', '2999-01-01Z', false),
  ('00000000-0000-4000-8000-000000000001', null, null, null, null, null, '{}', '{}', '2024-05-03Z', null, true),
  ('00000000-0000-4000-8000-000000000002', null, null, null, '4915100000000', '2024-05-01Z', '{}', '{}', '2024-05-04Z', null, false);
insert into auth.identities (provider_id, user_id, identity_data, provider) values
  ('${ADA}', '${ADA}', '{"sub":"${ADA}","email":"ada@example.com"}', 'email'),
  ('107', '${ADA}', '{"sub":"107","iss":"https://accounts.google.com"}', 'google'),
  ('d-1', '${BOB}', '{"sub":"d-1","iss":"https://discord.com/api"}', 'keycloak'),
  ('f-1', '${BOB}', '{"sub":"f-1"}', 'facebook');
insert into auth.mfa_factors (user_id, factor_type, status, secret) values
  ('${ADA}', 'totp', 'verified', '${SECRET}'), ('${BOB}', 'totp', 'unverified', 'AAAA'), ('${BOB}', 'phone', 'verified', null);
insert into storage.buckets values ('covers', 'covers', true);
insert into storage.objects (bucket_id, name, owner_id, metadata) values
  ('covers', 'ada/café.gif', '${ADA}', '{"mimetype":"image/gif","size":12}'),
  ('covers', 'gone.txt', null, '{"mimetype":"text/plain"}'),
  ('covers', '../../secret', null, '{}');

create type mood as enum ('sad', 'glad');
create table profiles (id uuid primary key references auth.users on delete cascade, username text unique, credits int not null default 5);
create table books (
  id bigint generated always as identity primary key, user_id uuid references auth.users, editor uuid references auth.users,
  title text not null, price numeric(10,2), exact numeric, big int8, state mood, tags text[], data jsonb, due date, seen timestamptz,
  cover text, raw bytea, fine boolean, created_at timestamptz default now(), updated_at timestamptz default now(), check (price >= 0));
create table chapters (book_id bigint references books on delete cascade, number int, text text, primary key (book_id, number));
create table slugs (slug text primary key, book bigint references books on delete set null);
create table lines (text text);
create table terms (id int primary key, until timestamptz, "updatedAt" timestamp not null, "_id" text not null, "$owner" text);
insert into terms values (1, '1899-12-31T23:59:59.5Z', '2024-05-06', '1', null), (2, 'infinity', '2024-05-06', '2', null),
  (3, '0044-03-15 BC', '2024-05-06', '3', null), (4, null, '2024-05-06', '4', 'system'), (5, null, '2024-05-06', '1', null);
create view titles as select title from books;
create unique index books_title on books (lower(title));
create function touch() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger books_touch before update on books for each row execute function touch();
alter table books enable row level security;
create policy "Own books" on books for select using (auth.uid() = user_id);
insert into profiles values ('${ADA}', 'ada', 7), ('${BOB}', null, 1);
insert into books (user_id, editor, title, price, exact, big, state, tags, data, due, seen, cover, raw, fine, created_at, updated_at) values
  ('${ADA}', '${BOB}', 'Momo', 12.30, 1.234567890123456789, 7, 'glad', '{a,b}', '{"page":{"cover":"${COVER}"},"n":[1,null]}', '2024-01-02',
    '2024-01-02T03:04:05.678+02', '${COVER}', '\\x0102', true, '2024-05-05T01:02:03.004Z', '2024-05-06Z'),
  (null, null, 'Too big', null, null, 9007199254740993, null, null, null, null, null, null, null, null, '2024-05-05Z', '2024-05-05Z');
insert into chapters values (1, 1, 'one'), (1, 2, 'two');
insert into slugs values ('mo.mo', 1), ('plain', null);
insert into lines values ('same'), ('same');
`

eachEngine((engine) => {
  test('a project of Supabase comes with its users, tables and files, and again without a change', async (t) => {
    const { folder, sixwire, start } = await emptyApplication(t, engine)
    const url = await createProject(t, project(await oldHash()))
    const documented = await documentedWords('supabase')
    const words = documented.words.map((word) => (word === '"$SUPABASE_DB"' ? url : word))
    await mkdir(join(folder, 'storage/covers/ada'), { recursive: true })
    await writeFile(join(folder, 'storage/covers/ada/café.gif'), 'GIF89a......')
    const before = await readdir(folder, { recursive: true })

    const checked = await sixwire(...words, '--dry-run', '--json')
    const expected = {
      users: { created: 2, unchanged: 0, refused: 1 },
      files: { stored: 1, present: 0, failed: 2 },
      collections: [
        { name: 'books', created: 1, present: 0, refused: 1 },
        { name: 'chapters', created: 2, present: 0, refused: 0 },
        { name: 'lines', created: 2, present: 0, refused: 0 },
        { name: 'profiles', created: 2, present: 0, refused: 0 },
        { name: 'slugs', created: 2, present: 0, refused: 0 },
        { name: 'terms', created: 1, present: 0, refused: 4 },
      ],
    }
    assert.partialDeepStrictEqual(reportOf(checked), expected, checked.errors)
    assert.deepEqual(await readdir(folder, { recursive: true }), before)

    const imported = await sixwire(...words)
    assert.equal(imported.code, 1)
    assert.doesNotMatch(imported.output, /\$2[aby]\$/)
    for (const line of [
      /^accounts 00000000-0000-4000-8000-000000000002: VALIDATION_ERROR email: /m,
      /^files covers\/gone\.txt: ENOENT /m,
      /^files covers\/\.\.\/\.\.\/secret: VALIDATION_ERROR /m,
      /^books line 2: VALIDATION_ERROR .*\/big/m,
      /^terms 2: VALIDATION_ERROR \/until/m,
      /^terms 3: VALIDATION_ERROR \/until/m,
      /^terms line 4: VALIDATION_ERROR \/\$owner/m,
      /^terms line 5: VALIDATION_ERROR \/_id/m,
      /^- views do not come, ask for what they are made of: titles$/m,
      /^- 1 anonymous users do not come/m,
      /^- 1 banned users are disabled here/m,
      /^- 1 phone numbers that were not confirmed/m,
      /^- 1 sign-ins with facebook do not come/m,
      /^- 1 second factors by phone do not come/m,
      /^- books: policy "Own books" is not translated, so administrators only: SELECT to public using \(auth\.uid\(\) = user_id\)$/m,
      /^- books: is not translated: CREATE UNIQUE INDEX books_title /m,
      /^- books: is not translated: CHECK /m,
      /^- books: the trigger books_touch does not come/m,
      /^- books: exact have numbers of any length/m,
      /^- chapters: the primary key \(book_id, number\) is unique here/m,
      /^- lines: has no primary key/m,
      /^- profiles: credits have defaults there/m,
      /^- slugs: had no row level security/m,
    ])
      assert.match(imported.output, line)

    const server = await start()
    const entered = await login(server, 'ada@example.com', OLD_PASSWORD)
    assert.match(entered.text, /"SECOND_FACTOR_REQUIRED".*"factors":\["totp"\]/)
    await server.register('admin@example.com')
    await server.app.service('auth').users.promote('admin@example.com')
    const { token } = (await login(server, 'admin@example.com', PASSWORD)).body
    const accountOf = async (id: string) =>
      (await server.request('GET', `/auth/users/${id}`, { token })).body.user
    assert.partialDeepStrictEqual(await accountOf(ADA), {
      emailVerified: true,
      name: 'Ada',
      createdAt: '2024-05-01T10:00:00.123Z',
      metadata: { theme: 'dark', appMetadata: { plan: 'pro' } },
      phone: '+4915112345678',
      disabled: false,
    })
    assert.partialDeepStrictEqual(await accountOf(BOB), { emailVerified: false, disabled: true })
    const { cover, data, ...book } = (await server.request('GET', '/store/books/1', { token })).body
    assert.deepEqual(book, {
      _id: '1',
      createdAt: '2024-05-05T01:02:03.004Z',
      updatedAt: '2024-05-06T00:00:00.000Z',
      user_id: ADA,
      editor: BOB,
      title: 'Momo',
      price: 12.3,
      exact: '1.234567890123456789',
      big: 7,
      state: 'glad',
      tags: ['a', 'b'],
      due: '2024-01-02',
      seen: '2024-01-02T01:04:05.678Z',
      raw: 'AQI=',
      fine: true,
    })
    assert.deepEqual(data, { page: { cover }, n: [1, null] })
    assert.equal((await server.request('GET', cover, { token })).text, 'GIF89a......')
    const owners = async (collection: string) =>
      (await server.request('GET', `/store/${collection}/export?owners=true`, { token })).text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
        .map(({ $owner, _id }) => [_id, $owner])
    assert.deepEqual(await owners('books'), [['1', ADA]])
    assert.deepEqual(Object.fromEntries(await owners('profiles')), { [ADA]: ADA, [BOB]: BOB })
    assert.deepEqual(
      (await owners('slugs')).map(([, owner]) => owner),
      ['system', 'system'],
    )
    const chapters = await server.request('GET', '/store/chapters?expand=book_id&sort=number', { token })
    assert.equal(chapters.body.data[0].$expanded.book_id.title, 'Momo')
    assert.partialDeepStrictEqual((await server.request('GET', '/store/terms/1', { token })).body, {
      until: '1899-12-31T23:59:59.500Z',
      updatedAt: '2024-05-06T00:00:00.000Z',
    })
    const slug = await server.request('GET', '/store/slugs?filter={"slug":"mo.mo"}', { token })
    assert.deepEqual([slug.body.total, slug.body.data[0].book], [1, '1'])
    const taken = { body: { book_id: '1', number: 2 }, token }
    assert.equal((await server.request('POST', '/store/chapters', taken)).status, 409)
    assert.equal(
      (await server.request('POST', '/store/books', { token, body: { title: 'x', state: 'bad' } })).status,
      400,
    )
    assert.equal((await server.request('DELETE', '/store/books/1', { token })).status, 200)
    assert.equal((await server.request('GET', '/store/chapters', { token })).body.total, 0)
    await server.stop()

    const declared = await readFile(join(folder, 'collections.supabase.ts'), 'utf8')
    const again = reportOf(await sixwire(...words, '--json'))
    assert.partialDeepStrictEqual(again, {
      users: { created: 0, unchanged: 2 },
      files: { stored: 0, present: 1, failed: 2 },
      collections: [
        { name: 'books', created: 1, present: 0 },
        { name: 'chapters', created: 2, present: 0 },
        { name: 'lines', created: 0, present: 2 },
        { name: 'profiles', created: 0, present: 2 },
        { name: 'slugs', created: 0, present: 2 },
        { name: 'terms', created: 0, present: 1 },
      ],
    })
    assert.equal(await readFile(join(folder, 'collections.supabase.ts'), 'utf8'), declared)
    const last = await start()
    assert.equal((await rowsOf(last))['documents'], 10)
  })

  test('a role that does not see all rows imports none', async (t) => {
    const { sixwire } = await emptyApplication(t, engine)
    const url = new URL(await createProject(t, project(await oldHash())))
    const role = `reader_${url.pathname.slice(1)}`
    await runStatements(
      url.href,
      `create role ${role} login password 'secret'; grant usage on schema auth, storage to ${role};
       grant select on all tables in schema public, auth, storage to ${role};`,
    )
    // Its rights go with the database, which goes first.
    t.after(async () => runStatements(await postgresUrl(), `drop role ${role}`))
    Object.assign(url, { username: role, password: 'secret' })
    const { code, output, errors } = await sixwire('supabase', url.href)
    assert.deepEqual([code, output], [1, ''])
    assert.match(errors, /row-level security policy for table "books": use the address of the role postgres/)
  })
})
