import { isoTime } from '../../base/clock.ts'
import type { Row } from '../../db/database.ts'
import { leftOut, type WireExport } from '../../kernel/wire/table-export.ts'
import type { UserRow } from './accounts/user.ts'

/** A user with what belongs to it in other tables. */
type UserLine = UserRow & { phone: string | null; identities: string | null; totp_secret: string | null }

/**
 * What is written of the accounts.
 *
 * @param openTotp decrypts the secret of an authenticator app
 */
export const authExport = ({ openTotp }: { openTotp: (sealed: string) => string }): WireExport => ({
  tables: [
    {
      table: 'auth_users',
      file: 'users',
      about: 'Users as `sixwire user import` reads them',
      also: {
        phone: { kind: 'text', sql: 'select phone from auth_phones where user_id = auth_users.id' },
        identities: {
          kind: 'text',
          sql: {
            sqlite:
              "select json_group_array(json_object('issuer', issuer, 'subject', subject)) from auth_identities where user_id = auth_users.id",
            postgres:
              "select json_agg(json_build_object('issuer', issuer, 'subject', subject))::text from auth_identities where user_id = auth_users.id",
          },
        },
        totp_secret: { kind: 'text', sql: 'select secret from auth_totp where user_id = auth_users.id' },
      },
      lineOf: (row: UserLine, _plain: Row, hasSecrets: boolean) => importedForm(row, openTotp, hasSecrets),
    },
    {
      table: 'auth_users',
      about:
        'Accounts, with all that is known of them; hashes are bcrypt of the password in NFKC, or as they were imported',
      secrets: ['password_hash'],
      without: ['email_key', 'name_key', 'credentials_version'],
      json: ['metadata'],
    },
    {
      table: 'auth_identities',
      about: 'Who users are at identity providers',
      without: ['credentials_version'],
    },
    { table: 'auth_phones', about: 'Phone numbers that users sign in with' },
    {
      table: 'auth_totp',
      about: 'Authenticator apps of users; secrets in base 32 (SHA-1, 6 digits, 30 s)',
      without: ['last_step'],
    },
    {
      table: 'auth_passkeys',
      about: 'Passkeys of users: their public keys (COSE, base64url)',
      json: ['transports'],
    },
    {
      table: 'auth_recovery_codes',
      about: 'Recovery codes of users: whether each was used',
      secrets: ['salt', 'hash'],
    },
    { table: 'auth_sessions', about: 'Sessions, without their tokens' },
    {
      table: 'auth_trusted_devices',
      about: 'Devices that need no second factor for a while',
      secrets: ['hash'],
      without: ['credentials_version'],
    },
    { table: 'auth_notes', about: 'Notes of the staff about users' },
    { table: 'auth_active_hours', about: 'Hours in which users were active, since 1970' },
    { table: 'auth_known_devices', about: 'Devices on which users have signed in', secrets: ['device_hash'] },
    {
      table: 'auth_address_changes',
      about: 'Changes of email addresses',
      secrets: ['hash', 'undo_hash'],
      without: ['credentials_version', 'email_key', 'old_email_key'],
    },
    {
      table: 'auth_service_keys',
      about: 'Service keys, of which there are only hashes',
      secrets: ['hash'],
      json: ['scopes'],
    },
    {
      table: 'auth_signing_keys',
      about: 'The keys that sign access tokens (JWK)',
      json: ['public_jwk', 'private_jwk'],
    },
    { table: 'auth_issuers', about: 'The issuers of access tokens' },
    ...leftOut('Links, codes and tokens, which end soon', [
      'auth_challenges',
      'auth_first_admin_links',
      'auth_mail_tokens',
      'auth_passkey_answers',
      'auth_provider_returns',
      'auth_refresh_tokens',
      'auth_text_codes',
      'auth_totp_offers',
    ]),
    ...leftOut('How accounts are found, counted and kept up to date', [
      'auth_caller_changes',
      'auth_first_account',
      'auth_login_attempts',
      'auth_user_places',
      'auth_user_search',
    ]),
  ],
})

/** A line as an import reads it: see `ImportedUserRecord`. */
const importedForm = (row: UserLine, openTotp: (sealed: string) => string, hasSecrets: boolean): object => ({
  _id: row.id,
  email: row.email,
  emailVerified: row.email_verified_at !== null,
  ...(row.phone !== null && { phone: row.phone }),
  ...(row.name !== null && { name: row.name }),
  metadata: JSON.parse(row.metadata) as unknown,
  role: row.is_viewer === 1 ? 'viewer' : row.role,
  createdAt: isoTime(row.created_at),
  disabled: row.disabled_at !== null,
  ...(hasSecrets && row.password_hash !== null && { passwordHash: row.password_hash }),
  ...(hasSecrets && row.totp_secret !== null && { totpSecret: openTotp(row.totp_secret) }),
  ...(row.identities !== null &&
    row.identities !== '[]' && {
      identities: JSON.parse(row.identities) as unknown,
    }),
})
