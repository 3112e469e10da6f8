/** A hash in the PHC string format: https://github.com/P-H-C/phc-string-format/blob/master/phc-sf-spec.md */
export type PhcHash = {
  /** The algorithm: `argon2id`, `scrypt`, `pbkdf2-sha256`. */
  readonly id: string
  /** Its parameters by their names, and its version as `v`. */
  readonly parameters: Readonly<Record<string, number>>
  readonly salt: Buffer
  readonly hash: Buffer
  /** What else the algorithm takes. */
  readonly others: readonly Buffer[]
}

const PARAMETERS = /^[a-z]{1,3}=\d{1,15}(?:,[a-z]{1,3}=\d{1,15})*$/
const BASE64 = /^[A-Za-z\d+/]*={0,2}$/
const PART_MAX = 1024

/** Reads a text; undefined if it is of another form. Base64 may have its padding, and `.` in place of `+`, as passlib writes it. */
export function readPhc(text: string): PhcHash | undefined {
  const [first, id, ...rest] = text.split('$')
  if (first !== '' || !id || !/^[a-z][a-z\d-]{0,31}$/.test(id)) return undefined
  const isParameters = (part: string | undefined): part is string =>
    part !== undefined && PARAMETERS.test(part)
  const version = rest[0]?.startsWith('v=') && isParameters(rest[0]) ? rest.shift()! : undefined
  const parameters = isParameters(rest[0]) ? rest.shift()! : undefined
  const [salt, hash, ...others] = rest.map(bytesOf)
  if (parameters === undefined || !salt || !hash || !others.every((part) => part !== undefined))
    return undefined
  const pairs = [version, parameters].flatMap((list) => list?.split(',') ?? [])
  return {
    id,
    parameters: Object.fromEntries(
      pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), Number(pair.slice(pair.indexOf('=') + 1))]),
    ),
    salt,
    hash,
    others,
  }
}

/** The text that `readPhc` reads. */
export function phcText({ id, parameters: { v, ...parameters }, salt, hash, others }: PhcHash): string {
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}=${value}`)
  const version = v === undefined ? [] : [`v=${v}`]
  return ['', id, ...version, pairs.join(','), ...[salt, hash, ...others].map(unpadded)].join('$')
}

/** The bytes of base64; undefined if it is none, or too long. */
export function bytesOf(base64: string): Buffer | undefined {
  const text = base64.replaceAll('.', '+')
  return BASE64.test(text) && text.length <= PART_MAX ? Buffer.from(text, 'base64') : undefined
}

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '')
