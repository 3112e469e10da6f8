const { root: path = '', app = '', unused = '' } = document.documentElement.dataset

/** The path of the sandbox. */
export const root = path

/** The address of the application's own pages, or of their stand-in. */
export const appUrl = app

const names = unused.split(' ')

/** Whether a real provider is configured instead of this stand-in, so that nothing arrives here. */
export const isUnused = (name: string): boolean => names.includes(name)

/** The address of the application's own routes. */
export const serverUrl = location.origin + root.replace(/\/sandbox$/, '')

/** Shell commands that put a user's token into TOKEN. */
export const SIGN_IN = `TOKEN=$(curl -s ${serverUrl}/auth/login \\
  -H 'content-type: application/json' \\
  -d '{"email": "you@example.com", "password": "correct horse battery"}' |
  grep -o '"token":"[^"]*' | cut -d'"' -f4)`

/** An answer that is an error, in words for people. */
export class AskError extends Error {
  declare readonly status: number
  /** The field that is wrong. */
  declare readonly field: string | undefined
  constructor(message: string, status: number, field: string | undefined) {
    super(message)
    this.status = status
    this.field = field
  }
}

/**
 * Calls `/sandbox/api`.
 *
 * @param address below `/sandbox/api`
 * @throws AskError; TypeError without an answer
 */
export async function ask<T>(method: string, address: string, body?: unknown): Promise<T> {
  const response = await fetch(`${root}/api${address}`, {
    method,
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  })
  const answer: unknown = await response.json().catch(() => ({}))
  if (response.ok) return answer as T
  const { message = `The server answered ${response.status}.`, field } = errorOf(answer as ErrorAnswer)
  throw new AskError(message, response.status, field)
}

/** The fields of requests, as people call them. */
const FIELDS: Readonly<Record<string, string>> = {
  amount: 'amount',
  blocks: 'number of blocks',
  card: 'card',
  delayMs: 'delay',
  depth: 'depth',
  email: 'email address',
  error: 'status',
  ms: 'delay',
  name: 'name',
  times: 'number of calls',
  to: 'address',
  token: 'coin',
  uri: 'address',
}

type Issue = { path: string; message: string }
type ErrorAnswer = {
  error?: { message?: string; details?: { issues?: Issue[] } }
  message?: string
  details?: { description?: string }[]
}

const fieldOf = ({ path }: Issue): string => path.split('/').at(-1)!

/** One fault of a field. A message that is a whole sentence is shown as it is. */
const faultOf = (issue: Issue): string =>
  /^[A-Z]/.test(issue.message)
    ? issue.message
    : `The ${FIELDS[fieldOf(issue)] ?? fieldOf(issue)} ${issue.message}.`

/** An error in this server's form, Stripe's or PayPal's. */
function errorOf({ error, details, message }: ErrorAnswer): { message?: string | undefined; field?: string } {
  const issues = error?.details?.issues
  return issues
    ? { message: issues.map(faultOf).join(' '), field: fieldOf(issues[0]!) }
    : { message: error?.message ?? details?.[0]?.description ?? message }
}
