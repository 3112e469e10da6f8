// A line of an import: what other systems have of a user.
import type { Static } from 'typebox'

import { addressFault, parseAddress, type EmailAddress } from '../../../../base/email-address.ts'
import { invalid } from '../../../../base/errors.ts'
import { recordIdPattern } from '../../../../base/ids.ts'
import { Type } from '../../../../base/schema.ts'
import { momentOf } from '../../../../base/time-text.ts'
import { withRule } from '../../../../base/with-rule.ts'
import { createValidation } from '../../../../http/validation.ts'
import { ACTOR_KINDS } from '../../../core/index.ts'
import { phoneFault, phoneNumber } from '../../../messaging/index.ts'
import { readHash, type FirebaseConfig } from '../../accounts/imported-hashes/hash-forms.ts'
import type { Role } from '../../accounts/user.ts'
import { secretFault } from '../../factors/totp.ts'
import { mergeMetadata } from '../metadata.ts'

const Json = Type.Union([Type.String(), Type.Record(Type.String(), Type.Unknown())])

/** A user in a file. */
export const ImportedUserRecord = Type.Object(
  {
    _id: Type.String({
      pattern: recordIdPattern,
      description: 'from 1 to 64 letters, digits, hyphens and underscores',
    }),
    email: withRule(Type.String({ maxLength: 1000 }), addressFault),
    emailVerified: Type.Optional(Type.Boolean()),
    phone: Type.Optional(withRule(Type.String({ maxLength: 20 }), phoneFault)),
    name: Type.Optional(Type.Union([Type.String({ maxLength: 200 }), Type.Null()])),
    metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    role: Type.Optional(Type.Enum(['user', 'viewer', 'admin'])),
    createdAt: Type.Optional(
      withRule(Type.String({ maxLength: 40 }), (text) =>
        momentOf(text) === undefined ? 'must be a time like 2026-01-31T00:00:00Z' : undefined,
      ),
    ),
    disabled: Type.Optional(Type.Boolean()),
    passwordHash: Type.Optional(
      Type.Union([
        Type.String({ maxLength: 4096 }),
        // As the export of a realm of Keycloak has it, with what else is in there.
        Type.Object({ secretData: Json, credentialData: Json }),
        Type.Null(),
      ]),
    ),
    salt: Type.Optional(Type.String({ maxLength: 1024 })),
    totpSecret: Type.Optional(withRule(Type.String({ maxLength: 300 }), secretFault)),
    identities: Type.Optional(
      Type.Array(
        Type.Object(
          {
            provider: Type.Optional(Type.String({ maxLength: 64 })),
            issuer: Type.Optional(Type.String({ minLength: 1, maxLength: 1000 })),
            subject: Type.String({ minLength: 1, maxLength: 255 }),
          },
          { additionalProperties: false },
        ),
        { maxItems: 20 },
      ),
    ),
  },
  // What an import would leave out, such as a hash by another name, must not be found missing later.
  { additionalProperties: false },
)

/** The line before users of Firebase. */
export const HashConfigRecord = Type.Object({
  hash_config: Type.Object({
    algorithm: Type.Literal('SCRYPT'),
    base64_signer_key: Type.String({ minLength: 1, maxLength: 1024 }),
    base64_salt_separator: Type.String({ maxLength: 1024 }),
    rounds: Type.Integer(),
    mem_cost: Type.Integer(),
  }),
})

/** An identity of a user at a provider: its issuer by the name of a configured provider, or as it is. */
export type ImportedIdentity = {
  readonly provider?: string
  readonly issuer?: string
  readonly subject: string
}

/** A user of a file, checked. */
export type ImportedUser = {
  readonly line: number
  readonly id: string
  readonly email: EmailAddress
  readonly isVerified: boolean
  readonly phone: string | undefined
  readonly name: string | null
  /** JSON. */
  readonly metadata: string
  readonly role: Role
  readonly createdAt: number
  readonly isDisabled: boolean
  /** As it is stored. */
  readonly passwordHash: string | null
  /** In base 32. */
  readonly totpSecret: string | undefined
  readonly identities: readonly ImportedIdentity[]
}

/** Documents and entries of the audit log have the first in the place of an account; the last is a route: `/auth/users/import`. */
const RESERVED_IDS: readonly string[] = [...ACTOR_KINDS, 'import']

/**
 * Makes the reader of lines.
 *
 * @returns a function that reads one line: a user, or undefined for the parameters of Firebase, which count for the lines after it
 */
export function createUserReader(): (line: number, value: unknown, now: number) => ImportedUser | undefined {
  const validation = createValidation()
  const checkUser = validation('body', ImportedUserRecord)
  const checkConfig = validation('body', HashConfigRecord)
  let firebase: FirebaseConfig | undefined
  return (line, value, now) => {
    if (Object.hasOwn(value as object, 'hash_config')) {
      const result = checkConfig(value)
      if ('error' in result) throw result.error
      firebase = (result.value as Static<typeof HashConfigRecord>).hash_config
      return undefined
    }
    const result = checkUser(value)
    if ('error' in result) throw result.error
    return userOf(line, result.value as Static<typeof ImportedUserRecord>, now, firebase)
  }
}

function userOf(
  line: number,
  record: Static<typeof ImportedUserRecord>,
  now: number,
  firebase: FirebaseConfig | undefined,
): ImportedUser {
  const {
    _id: id,
    emailVerified = false,
    phone,
    name,
    metadata = {},
    role = 'user',
    disabled = false,
  } = record
  if (RESERVED_IDS.includes(id))
    throw invalid({ path: '/body/_id', message: `"${id}" cannot be the id of an account` })
  const createdAt = record.createdAt === undefined ? now : momentOf(record.createdAt)!
  if (createdAt > now) throw invalid({ path: '/body/createdAt', message: 'must not be in the future' })
  for (const [i, { provider, issuer }] of (record.identities ?? []).entries())
    if ((provider === undefined) === (issuer === undefined))
      throw invalid({
        path: `/body/identities/${i}`,
        message: 'must have either the provider, by its name in the configuration, or the issuer',
      })
  return {
    line,
    id,
    email: parseAddress(record.email, '/body/email'),
    isVerified: emailVerified,
    phone: phone === undefined ? undefined : phoneNumber(phone),
    name: name?.trim() || null,
    metadata: mergeMetadata('{}', metadata),
    role,
    createdAt,
    isDisabled: disabled,
    passwordHash: hashOf(record, firebase),
    totpSecret: record.totpSecret,
    identities: record.identities ?? [],
  }
}

function hashOf(
  { passwordHash, salt }: Static<typeof ImportedUserRecord>,
  firebase: FirebaseConfig | undefined,
): string | null {
  if (passwordHash === undefined || passwordHash === null) return null
  const hash = readHash({ passwordHash, salt }, firebase)
  if ('fault' in hash) throw invalid({ path: '/body/passwordHash', message: hash.fault })
  return hash.text
}
