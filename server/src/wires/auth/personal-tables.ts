import { isOneOf } from '../../db/is-one-of.ts'
import { sql } from '../../db/sql.ts'
import { isOf, type PersonalTables } from '../../kernel/wire/personal-data.ts'

const ofUser = isOf('user_id')
/** What an account signs in with, as hashes and sealed texts: nobody is told of it. */
const SECRETS = { rows: ofUser, deletion: 'with the account' } as const

/** What the tables of the accounts hold of persons. */
export const AUTH_TABLES: PersonalTables = {
  auth_users: {
    about: 'the account',
    rows: isOf('id'),
    exported: {
      id: 'value',
      email: 'value',
      name: 'value',
      metadata: 'json',
      role: 'value',
      is_viewer: 'flag',
      email_verified_at: 'time',
      disabled_at: 'time',
      created_at: 'time',
      updated_at: 'time',
      last_sign_in_at: 'time',
    },
    deletion: 'with the account',
  },
  auth_sessions: {
    about: 'sessions',
    rows: ofUser,
    exported: {
      id: 'value',
      kind: 'value',
      // Of an administrator who acts as the user they are another person's.
      ip: { kind: 'value', of: () => sql`case when impersonator_id is null then ip end` },
      user_agent: { kind: 'value', of: () => sql`case when impersonator_id is null then user_agent end` },
      second_factor: 'value',
      created_at: 'time',
      last_used_at: 'time',
      expires_at: 'time',
    },
    deletion: 'with the account',
  },
  auth_identities: {
    about: 'accounts at identity providers',
    rows: ofUser,
    exported: { id: 'value', issuer: 'value', subject: 'value', created_at: 'time' },
    deletion: 'with the account',
  },
  auth_phones: {
    about: 'phone numbers',
    rows: ofUser,
    key: ['phone'],
    exported: { phone: 'value', verified_at: 'time' },
    deletion: 'with the account',
  },
  auth_passkeys: {
    about: 'passkeys',
    rows: ofUser,
    exported: {
      id: 'value',
      name: 'value',
      transports: 'json',
      is_synced: 'flag',
      created_at: 'time',
      last_used_at: 'time',
    },
    deletion: 'with the account',
  },
  auth_totp: {
    about: 'authenticator apps',
    rows: ofUser,
    key: ['user_id'],
    exported: { created_at: 'time', last_used_at: 'time' },
    deletion: 'with the account',
  },
  auth_trusted_devices: {
    about: 'trusted devices',
    rows: ofUser,
    exported: {
      id: 'value',
      ip: 'value',
      user_agent: 'value',
      created_at: 'time',
      last_used_at: 'time',
      expires_at: 'time',
    },
    deletion: 'with the account',
  },
  auth_address_changes: {
    about: 'changes of the address',
    rows: ofUser,
    exported: { id: 'value', email: 'value', old_email: 'value', changed_at: 'time', undone_at: 'time' },
    deletion: 'with the account',
  },
  auth_notes: {
    about: 'notes of the staff',
    rows: ofUser,
    // Who wrote them is another person's.
    exported: { id: 'value', text: 'value', created_at: 'time' },
    deletion: 'with the account',
  },
  auth_known_devices: SECRETS,
  auth_active_hours: {
    about: 'hours of activity',
    rows: ofUser,
    key: ['user_id', 'hour'],
    exported: { hour: { kind: 'time', of: () => sql`hour * 3600000` } },
    deletion: 'with the account',
  },
  auth_recovery_codes: SECRETS,
  auth_totp_offers: SECRETS,
  auth_challenges: SECRETS,
  auth_user_places: SECRETS,
  auth_mail_tokens: {
    rows: ({ id, emails, until }) =>
      sql`(user_id = ${id} or (${isOneOf('email_key', emails)} and user_id is null and issued_at <= ${until}))`,
    deletion: 'erased',
  },
  auth_text_codes: {
    rows: ({ id, phones }) => sql`(user_id = ${id} or (user_id is null and ${isOneOf('phone', phones)}))`,
    deletion: 'erased',
  },
  auth_login_attempts: { rows: ofUser, key: ['address_key'], deletion: 'erased' },
  auth_caller_changes: {
    rows: isOf('id'),
    deletion: { keeps: 'open streams of the account end by the id, for an hour' },
  },
  auth_first_account: {
    rows: ofUser,
    deletion: { keeps: 'only the first account of a server becomes an administrator by itself' },
  },
}
