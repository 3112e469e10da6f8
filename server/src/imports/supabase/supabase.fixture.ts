// A project of Supabase: its own tables as its documentation describes them, as far as an import reads them.
import { randomBytes } from 'node:crypto'

import { Client } from 'pg'

import type { Ending } from '../../testing/engines.ts'
import { postgresUrl } from '../../testing/postgres.ts'

export const ADA = '8d0fd2b3-9ca7-4d9e-a95f-9e13dded323e'
export const BOB = '5b8f1f3e-5a1f-4bfa-9a37-0a62a1c4f2f1'

// https://supabase.com/docs/guides/auth/users, /identities, /auth-mfa; /storage/schema/design
const OWN = `
create schema auth;
create table auth.users (
  instance_id uuid, id uuid primary key, aud varchar(255), role varchar(255), email varchar(255),
  encrypted_password varchar(255), email_confirmed_at timestamptz, phone text unique, phone_confirmed_at timestamptz,
  raw_app_meta_data jsonb, raw_user_meta_data jsonb, created_at timestamptz, updated_at timestamptz,
  banned_until timestamptz, deleted_at timestamptz, is_sso_user boolean not null default false,
  is_anonymous boolean not null default false);
create table auth.identities (
  provider_id text not null, user_id uuid not null references auth.users on delete cascade, identity_data jsonb not null,
  provider text not null, last_sign_in_at timestamptz, created_at timestamptz, updated_at timestamptz,
  id uuid primary key default gen_random_uuid(), unique (provider_id, provider));
create type auth.factor_type as enum ('totp', 'webauthn', 'phone');
create type auth.factor_status as enum ('unverified', 'verified');
create table auth.mfa_factors (
  id uuid primary key default gen_random_uuid(), user_id uuid not null references auth.users on delete cascade,
  friendly_name text, factor_type auth.factor_type not null, status auth.factor_status not null,
  created_at timestamptz not null default now(), updated_at timestamptz not null default now(), secret text);
create function auth.uid() returns uuid language sql stable as $$ select null::uuid $$;
create schema storage;
create table storage.buckets (id text primary key, name text not null, public boolean default false);
create table storage.objects (
  id uuid primary key default gen_random_uuid(), bucket_id text references storage.buckets, name text, owner uuid,
  created_at timestamptz default now(), updated_at timestamptz default now(), metadata jsonb, owner_id text);
`

/** A new database with the tables of a project, and what a test adds. @returns its address */
export async function createProject(ending: Ending, statements: string): Promise<string> {
  const server = await postgresUrl()
  const name = `project_${randomBytes(8).toString('hex')}`
  await runStatements(server, `create database ${name}`)
  ending.after(() => runStatements(server, `drop database ${name} with (force)`))
  const url = new URL(server)
  url.pathname = name
  await runStatements(url.href, OWN + statements)
  return url.href
}

/** Runs statements in a database. */
export async function runStatements(url: string, statements: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statements)
  } finally {
    await client.end()
  }
}
