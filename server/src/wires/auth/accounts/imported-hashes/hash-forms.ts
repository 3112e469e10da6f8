// The forms in which other systems keep the hashes of passwords.
import { checkPhc } from './algorithms.ts'
import { bytesOf, readPhc, type PhcHash } from './phc-string.ts'

/** What a record has of a password. */
export type HashRecord = {
  /** A text, or a credential of Keycloak. */
  readonly passwordHash: string | KeycloakCredential
  /** Of Firebase, in base64. */
  readonly salt?: string | undefined
}

/** As Keycloak writes it in the export of a realm: JSON as text. */
export type KeycloakCredential = {
  readonly secretData: string | Readonly<Record<string, unknown>>
  readonly credentialData: string | Readonly<Record<string, unknown>>
}

/** The hash parameters of a project of Firebase, by the names that its console shows. */
export type FirebaseConfig = {
  readonly base64_signer_key: string
  readonly base64_salt_separator: string
  readonly rounds: number
  readonly mem_cost: number
}

/** A hash as it is stored, or why it is refused. */
export type ReadHash = { text: string } | { fault: string }

/** bcrypt at a higher cost takes longer than a sign-in may. */
const BCRYPT_COST_MAX = 15
const BCRYPT = /^\$2[aby](\$(\d\d)\$[./A-Za-z\d]{53})$/

/** The forms that are read, for who sends another one. */
const KNOWN =
  'bcrypt ($2a$, $2b$, $2y$), argon2id and argon2i ($argon2id$v=19$m=…), scrypt ($scrypt$ln=…), ' +
  "Firebase's scrypt (passwordHash and salt, after a line with hash_config, or $firescrypt$ln=…), PBKDF2 ($pbkdf2-sha256$i=…, " +
  "Django's pbkdf2_sha256$…, a credential of Keycloak, ASP.NET Identity's base64)"

const UNKNOWN = { fault: `is of no known form: send one of ${KNOWN}` }

/**
 * Reads a hash, and writes it in the form in which it is stored until its first use: the PHC string format, or bcrypt as `$2y$`.
 * That is the algorithm of `$2b$`, with which the hashes of this server begin: theirs are of the password in NFKC, those of
 * other systems of the text as it is typed.
 *
 * @param firebase of a line before
 */
export function readHash(record: HashRecord, firebase?: FirebaseConfig): ReadHash {
  const { passwordHash: hash, salt } = record
  if (typeof hash !== 'string') return checked(ofKeycloak(hash))
  if (salt !== undefined) {
    if (!firebase)
      return { fault: "of Firebase needs the project's parameters: send a line with hash_config before it" }
    return checked(ofFirebase(hash, salt, firebase))
  }
  // Django writes the name of its hasher before it.
  const text = hash.replace(/^(?:argon2|bcrypt\$)(?=\$)/, '')
  const bcrypt = BCRYPT.exec(text)
  if (bcrypt) {
    const cost = Number(bcrypt[2])
    return cost < 4 || cost > BCRYPT_COST_MAX
      ? { fault: `bcrypt: its cost ${cost} must be from 4 to ${BCRYPT_COST_MAX}` }
      : { text: `$2y${bcrypt[1]!}` }
  }
  return checked(readPhc(text) ?? ofDjango(text) ?? ofAspNet(text))
}

const checked = (hash: PhcHash | undefined): ReadHash => (hash && checkPhc(hash)) ?? UNKNOWN

const phcOf = (
  id: string,
  parameters: PhcHash['parameters'],
  [salt, hash, ...others]: readonly (Buffer | undefined)[],
): PhcHash | undefined =>
  salt && hash && others.every((part) => part !== undefined)
    ? { id, parameters, salt, hash, others }
    : undefined

/** https://firebase.google.com/docs/cli/auth */
const ofFirebase = (hash: string, salt: string, config: FirebaseConfig): PhcHash | undefined =>
  phcOf(
    'firescrypt',
    { ln: config.mem_cost, r: config.rounds, p: 1 },
    // The command line of Firebase writes base64 for addresses.
    [salt, hash, config.base64_salt_separator, config.base64_signer_key].map((text) =>
      bytesOf(text.replaceAll('-', '+').replaceAll('_', '/')),
    ),
  )

/** https://docs.djangoproject.com/en/stable/topics/auth/passwords/: the salt is text. */
function ofDjango(text: string): PhcHash | undefined {
  const [name, first, salt = '', ...rest] = text.split('$')
  const pbkdf2 = /^pbkdf2_(sha1|sha256)$/.exec(name!)
  if (pbkdf2 && rest.length === 1)
    return phcOf(`pbkdf2-${pbkdf2[1]}`, { i: Number(first) }, [Buffer.from(salt), bytesOf(rest[0]!)])
  if (name !== 'scrypt' || rest.length !== 3) return undefined
  const [r, p, hash] = rest
  const ln = Math.log2(Number(first))
  return Number.isInteger(ln)
    ? phcOf('scrypt', { ln, r: Number(r), p: Number(p) }, [Buffer.from(salt), bytesOf(hash!)])
    : undefined
}

const PRF = ['sha1', 'sha256', 'sha512']

/** https://github.com/dotnet/aspnetcore/blob/main/src/Identity/Extensions.Core/src/PasswordHasher.cs */
function ofAspNet(text: string): PhcHash | undefined {
  const bytes = bytesOf(text)
  if (!bytes || bytes.length < 14) return undefined
  if (bytes[0] === 0 && bytes.length === 49)
    return phcOf('pbkdf2-sha1', { i: 1000 }, [bytes.subarray(1, 17), bytes.subarray(17)])
  const digest = PRF[bytes.readUInt32BE(1)]
  if (bytes[0] !== 1 || digest === undefined) return undefined
  const end = 13 + bytes.readUInt32BE(9)
  return phcOf(`pbkdf2-${digest}`, { i: bytes.readUInt32BE(5) }, [
    bytes.subarray(13, end),
    bytes.subarray(end),
  ])
}

/** https://www.keycloak.org/docs/latest/server_admin/: the credentials in the export of a realm. */
function ofKeycloak({ secretData, credentialData }: KeycloakCredential): PhcHash | undefined {
  const [secret, credential] = [objectOf(secretData), objectOf(credentialData)]
  const { algorithm, hashIterations } = credential
  const [salt, value] = [secret['salt'], secret['value']].map((text) =>
    typeof text === 'string' ? bytesOf(text) : undefined,
  )
  const iterations = Number(hashIterations)
  if (algorithm === 'argon2') {
    const { type, version, memory, parallelism } = objectOf(credential['additionalParameters'])
    // Lists of one text each.
    const v = String(version) === '1.3' ? 19 : 16
    const parameters = { v, m: Number(memory), t: iterations, p: Number(parallelism) }
    return phcOf(`argon2${String(type)}`, parameters, [salt, value])
  }
  const id = algorithm === 'pbkdf2' ? 'pbkdf2-sha1' : String(algorithm)
  return id.startsWith('pbkdf2-') ? phcOf(id, { i: iterations }, [salt, value]) : undefined
}

function objectOf(json: unknown): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = typeof json === 'string' ? JSON.parse(json) : json
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
