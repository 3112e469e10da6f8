// What "firebase auth:export users.json" writes: https://firebase.google.com/docs/cli/auth
import { createReadStream, existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { ApiError } from '../../base/errors.ts'
import { StartError } from '../../base/start-error.ts'
import { recordsOf } from '../../wires/store/index.ts'
import { ISSUERS } from '../issuers.ts'
import { wrappedArray } from '../wrapped-array.ts'

/** An account, as far as it is read. Times are milliseconds since 1970, as text. */
type Account = {
  readonly localId: string
  readonly email?: string
  readonly emailVerified?: boolean
  readonly phoneNumber?: string
  readonly displayName?: string
  readonly photoUrl?: string
  readonly passwordHash?: string
  readonly salt?: string
  readonly createdAt?: string
  readonly disabled?: boolean
  /** JSON. */
  readonly customAttributes?: string
  readonly providerUserInfo?: readonly { readonly providerId: string; readonly rawId?: string }[]
  readonly mfaInfo?: readonly unknown[]
}

/** The accounts of a project, and what of them does not come. */
export type FirebaseAccounts = {
  readonly count: number
  readonly notes: readonly string[]
  /** The ids of all accounts that come. */
  readonly ids: ReadonlySet<string>
  read(): AsyncGenerator<object>
}

const OWN_PROVIDERS = ['password', 'phone', 'anonymous']

/**
 * @param dir has `users.json`, and `hash_config.txt` with what the console shows of the hashes
 * @returns undefined if there is no such file
 */
export async function openAccounts(dir: string): Promise<FirebaseAccounts | undefined> {
  const file = join(dir, 'users.json')
  if (!existsSync(file)) return undefined
  const config = await readHashConfig(join(dir, 'hash_config.txt'))
  async function* accounts(): AsyncGenerator<Account> {
    for await (const { line, fields } of recordsOf(
      'ndjson',
      wrappedArray(createReadStream(file)),
      undefined,
    )) {
      if (fields instanceof ApiError) throw new StartError(`${file}: line ${line} is no user of JSON`)
      yield fields as unknown as Account
    }
  }
  const ids = new Set<string>()
  const lost = new Map<string, number>()
  for await (const account of accounts()) {
    for (const reason of whatIsLost(account, config)) lost.set(reason, (lost.get(reason) ?? 0) + 1)
    if (!isAnonymous(account)) ids.add(account.localId)
  }
  return {
    count: ids.size,
    ids,
    notes: [...lost].map(([reason, count]) => `${count} ${reason}`),
    async *read() {
      if (config) yield { hash_config: config }
      for await (const account of accounts()) if (!isAnonymous(account)) yield userOf(account, config)
    },
  }
}

type HashConfig = Record<string, string | number>

/**
 * Reads the parameters as the console shows them, or as JSON.
 *
 * @throws StartError if some of them are missing
 */
async function readHashConfig(file: string): Promise<HashConfig | undefined> {
  if (!existsSync(file)) return undefined
  const text = await readFile(file, 'utf8')
  const valueOf = (name: string): string => {
    const [, value] = new RegExp(`${name}"?\\s*[:=]\\s*"?([\\w+/=-]+)`).exec(text) ?? []
    if (value === undefined) throw new StartError(`${file}: there is no ${name} in it`)
    return value
  }
  if (valueOf('algorithm') !== 'SCRYPT')
    throw new StartError(`${file}: the hashes are of ${valueOf('algorithm')}, and only SCRYPT is read`)
  return {
    algorithm: 'SCRYPT',
    base64_signer_key: valueOf('base64_signer_key'),
    base64_salt_separator: valueOf('base64_salt_separator'),
    rounds: Number(valueOf('rounds')),
    mem_cost: Number(valueOf('mem_cost')),
  }
}

const isAnonymous = ({ email, phoneNumber, providerUserInfo = [] }: Account): boolean =>
  email === undefined && phoneNumber === undefined && providerUserInfo.length === 0

/** What of an account does not come: a phrase behind a number. */
function whatIsLost(account: Account, config: HashConfig | undefined): string[] {
  if (isAnonymous(account)) return ['anonymous users do not come: accounts have an email address here']
  const { passwordHash, mfaInfo = [], providerUserInfo = [], customAttributes } = account
  return [
    ...(passwordHash && !config
      ? ['passwords do not come: put the parameters that the console shows into hash_config.txt']
      : []),
    ...(mfaInfo.length > 0 ? ['second factors do not come, as their secrets are not exported'] : []),
    ...(customAttributes && customAttributes !== '{}'
      ? ['custom claims are in the metadata, as claims: they give no rights here']
      : []),
    ...providerUserInfo
      .filter((one) => !OWN_PROVIDERS.includes(one.providerId) && issuerOf(one.providerId) === undefined)
      .map(
        ({ providerId }) =>
          `sign-ins with ${providerId} do not come: users with a verified address are linked again as they sign in`,
      ),
  ]
}

/** `google.com` */
const issuerOf = (providerId: string): string | undefined => ISSUERS[providerId.replace(/\.com$/, '')]

/** The line of a user. */
function userOf(account: Account, config: HashConfig | undefined): object {
  const { localId, email, emailVerified, phoneNumber, displayName, photoUrl, passwordHash, salt } = account
  const claims = claimsOf(account)
  const identities = (account.providerUserInfo ?? []).flatMap(({ providerId, rawId }) => {
    const issuer = issuerOf(providerId)
    return issuer === undefined || rawId === undefined ? [] : [{ issuer, subject: rawId }]
  })
  return {
    _id: localId,
    ...(email !== undefined && { email }),
    emailVerified: emailVerified ?? false,
    ...(phoneNumber !== undefined && { phone: phoneNumber }),
    ...(displayName && { name: displayName.slice(0, 200) }),
    metadata: { ...(photoUrl && { photoUrl }), ...(claims !== undefined && { claims }) },
    ...(account.createdAt !== undefined && { createdAt: new Date(Number(account.createdAt)).toISOString() }),
    disabled: account.disabled ?? false,
    ...(config && passwordHash && salt && { passwordHash, salt }),
    ...(identities.length > 0 && { identities }),
  }
}

function claimsOf({ customAttributes }: Account): unknown {
  if (!customAttributes || customAttributes === '{}') return undefined
  try {
    return JSON.parse(customAttributes)
  } catch {
    return customAttributes
  }
}
