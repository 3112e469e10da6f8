import { isPlain } from './fields.ts'

export const MASK = '***'

// Names that end so have secret values, those of an application's own wires too. More is masked rather than less.
const SECRET_NAME =
  /(secret|password|passwd|pass|passphrase|token|mnemonic|credentials?|private|key|seed|auth)$/i
const SECRET_VALUE = /^(sk|rk|pk|whsec|ghp|xox[a-z])[_-]|^AKIA|-----BEGIN /
// As far as the last @: a password may hold one that is not encoded.
const USER = /(?<=:\/\/)\S*@/g
const USER_WITHOUT_SCHEME = /(?<![^\s,])[^\s:/@]+:[^\s/]\S*@/g
// Nodes of chains and webhooks have their keys in the path.
const RANDOM_SEGMENT = /(?<=\/)[\w.~%-]{20,}(?=$|[/?#])/g
const PARAMETER = /([?&;])([^=&;#]+)=([^&;#]*)/g
const OPEN_PARAMETERS = new Set(['sslmode', 'ssl', 'host', 'port', 'application_name'])

/**
 * A value of a setting as an operator may see it: nothing that opens anything is left in it.
 *
 * @param path the names of the option from the outermost one on
 */
export function masked(value: unknown, path: readonly string[]): unknown {
  if (value === undefined || value === null || value === '' || typeof value === 'boolean') return value
  if (path.some((name) => SECRET_NAME.test(name))) return MASK
  if (typeof value === 'string') return maskedText(value)
  if (typeof value === 'number') return value
  if (Array.isArray(value)) return value.map((one) => masked(one, path))
  if (isPlain(value) && Object.values(value).every((one) => typeof one !== 'function'))
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, masked(one, [...path, name])]),
    )
  // A provider that the application made: its fields may be anything.
  const { name } = value as { name?: unknown }
  return typeof name === 'string' && typeof value === 'object' ? `[${maskedText(name)}]` : '[set]'
}

function maskedText(text: string): string {
  if (SECRET_VALUE.test(text)) return MASK
  if (!text.includes('://')) return text.replaceAll(USER_WITHOUT_SCHEME, `${MASK}@`)
  return text
    .replaceAll(USER, `${MASK}@`)
    .replaceAll(PARAMETER, (whole, before: string, name: string) =>
      OPEN_PARAMETERS.has(name) ? whole : `${before}${name}=${MASK}`,
    )
    .replaceAll(RANDOM_SEGMENT, MASK)
}
