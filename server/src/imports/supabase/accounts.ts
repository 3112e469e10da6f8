import { linesIn } from '../../base/json-lines.ts'
import type { Snapshot } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import { ISSUERS } from '../issuers.ts'

type Account = {
  readonly user: {
    id: string
    email: string | null
    encrypted_password?: string | null
    email_confirmed_at?: string | null
    phone?: string | null
    phone_confirmed_at?: string | null
    raw_user_meta_data?: Record<string, unknown> | null
    raw_app_meta_data?: Record<string, unknown> | null
    created_at?: string | null
    banned_until?: string | null
    deleted_at?: string | null
    is_anonymous?: boolean
  }
  readonly identities: readonly Identity[] | null
  readonly factors: readonly Factor[] | null
}
type Identity = {
  provider: string
  provider_id?: string
  id: string
  identity_data?: { sub?: string; iss?: string } | null
}
type Factor = { factor_type: string; status: string; secret?: string | null }

/** The accounts of a project, and what of them does not come. */
export type SupabaseAccounts = {
  readonly count: number
  readonly notes: readonly string[]
  read(): AsyncGenerator<object>
}

const SECRET = /^[A-Z2-7]{16,128}=*$/i
const OWN_PROVIDERS = ['email', 'phone']
/** Made by the server itself of what it knows. */
const APP_FIELDS = ['provider', 'providers']

/** @returns undefined if the database has no `auth.users` */
export async function openAccounts(snapshot: Snapshot): Promise<SupabaseAccounts | undefined> {
  if (!(await isThere(snapshot, 'auth.users'))) return undefined
  const partSql = async (table: string): Promise<string> =>
    (await isThere(snapshot, table))
      ? `(select jsonb_agg(to_jsonb(o)) from ${table} as o where o.user_id = u.id)`
      : 'null'
  const text = `
    select jsonb_build_object('user', to_jsonb(u), 'identities', ${await partSql('auth.identities')},
      'factors', ${await partSql('auth.mfa_factors')})::text as line
    from auth.users as u order by u.created_at, u.id`
  async function* accounts(): AsyncGenerator<Account> {
    const lines = sql.literal(text) as ReturnType<typeof sql<{ line: string }>>
    for await (const some of linesIn(snapshot.lines(lines)))
      for (const one of some) yield JSON.parse(one.toString()) as Account
  }
  let count = 0
  const lost = new Map<string, number>()
  for await (const account of accounts()) {
    const reasons = whatIsLost(account)
    if (!isLeftOut(account)) count++
    for (const reason of reasons) lost.set(reason, (lost.get(reason) ?? 0) + 1)
  }
  return {
    count,
    notes: [...lost].map(([reason, accountsWith]) => `${accountsWith} ${reason}`),
    async *read() {
      for await (const account of accounts()) if (!isLeftOut(account)) yield userOf(account)
    },
  }
}

async function isThere(snapshot: Snapshot, table: string): Promise<boolean> {
  const row = await snapshot.get<{ found: number }>(
    sql`select (to_regclass(${table}) is not null)::int as found`,
  )
  return row!.found === 1
}

const isLeftOut = ({ user }: Account): boolean => Boolean(user.is_anonymous) || Boolean(user.deleted_at)

/** What of an account does not come: a phrase behind a number. */
function whatIsLost(account: Account): string[] {
  const { user, identities, factors } = account
  if (user.is_anonymous) return ['anonymous users do not come: accounts have an email address here']
  if (user.deleted_at) return ['deleted users do not come']
  return [
    ...(user.banned_until && isBanned(account)
      ? ['banned users are disabled here, without an end: enable them with "sixwire user enable"']
      : []),
    ...(user.phone && !user.phone_confirmed_at ? ['phone numbers that were not confirmed do not come'] : []),
    ...(identities ?? [])
      .filter((one) => !OWN_PROVIDERS.includes(one.provider) && issuerOf(one) === undefined)
      .map(
        ({ provider }) =>
          `sign-ins with ${provider} do not come: users with a verified address are linked again as they sign in`,
      ),
    ...(factors ?? [])
      .filter((one) => one.status === 'verified' && !isTotp(one))
      .map(({ factor_type: type }) =>
        type === 'totp'
          ? 'authenticator apps do not come, as their secrets are encrypted with a key of the project'
          : `second factors by ${type} do not come`,
      ),
  ]
}

const isBanned = ({ user }: Account): boolean =>
  user.banned_until ? !(Date.parse(user.banned_until) <= Date.now()) : false

const isTotp = ({ factor_type: type, status, secret }: Factor): boolean =>
  type === 'totp' && status === 'verified' && SECRET.test(secret ?? '')

function issuerOf({ provider, identity_data: data }: Identity): string | undefined {
  return ISSUERS[provider] ?? (URL.canParse(data?.iss ?? '') ? data!.iss : undefined)
}

/** The line of a user. */
function userOf(account: Account): object {
  const { user, identities, factors } = account
  const { full_name: fullName, name = fullName, ...metadata } = user.raw_user_meta_data ?? {}
  const app = Object.entries(user.raw_app_meta_data ?? {}).filter(([field]) => !APP_FIELDS.includes(field))
  const known = (identities ?? []).flatMap((one) => {
    const issuer = OWN_PROVIDERS.includes(one.provider) ? undefined : issuerOf(one)
    return issuer === undefined
      ? []
      : [{ issuer, subject: one.provider_id ?? one.identity_data?.sub ?? one.id }]
  })
  const secret = factors?.find(isTotp)?.secret
  return {
    _id: user.id,
    email: user.email,
    emailVerified: Boolean(user.email_confirmed_at),
    ...(user.phone && user.phone_confirmed_at && { phone: `+${user.phone.replace(/^\+/, '')}` }),
    ...(typeof name === 'string' && name !== '' && { name: name.slice(0, 200) }),
    metadata: { ...metadata, ...(app.length > 0 && { appMetadata: Object.fromEntries(app) }) },
    ...(user.created_at && { createdAt: user.created_at }),
    disabled: isBanned(account),
    passwordHash: user.encrypted_password || null,
    ...(secret && { totpSecret: secret }),
    ...(known.length > 0 && { identities: known }),
  }
}
