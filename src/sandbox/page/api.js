/** The path of the sandbox. */
export const root = document.documentElement.dataset.root

/** The address of the application's own pages, or of their stand-in. */
export const appUrl = document.documentElement.dataset.app

const unused = document.documentElement.dataset.unused.split(' ')

/** Whether a real provider is configured instead of this stand-in, so that nothing arrives here. */
export const isUnused = (name) => unused.includes(name)

/** The address of the application's own routes. */
export const serverUrl = location.origin + root.replace(/\/sandbox$/, '')

/** Shell commands that put a user's token into TOKEN. */
export const SIGN_IN = `TOKEN=$(curl -s ${serverUrl}/auth/login \\
  -H 'content-type: application/json' \\
  -d '{"email": "you@example.com", "password": "correct horse battery"}' |
  grep -o '"token":"[^"]*' | cut -d'"' -f4)`

/**
 * Calls `/sandbox/api`.
 *
 * @param {string} method
 * @param {string} path below `/sandbox/api`
 * @param {unknown} [body]
 * @throws {Error} with a message for people, the `status` of the answer if there was one, and the `field` that is wrong
 */
export async function ask(method, path, body) {
  const response = await fetch(`${root}/api${path}`, {
    method,
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  })
  const answer = await response.json().catch(() => ({}))
  const { ok, status } = response
  if (!ok) {
    const { message = `The server answered ${status}.`, field } = errorOf(answer)
    throw Object.assign(new Error(message), { status, field })
  }
  return answer
}

/** The fields of requests, as people call them. */
const FIELDS = {
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
}

const fieldOf = ({ path }) => path.split('/').at(-1)

/** One fault of a field; a sentence stands for itself. */
const faultOf = (issue) =>
  /^[A-Z]/.test(issue.message)
    ? issue.message
    : `The ${FIELDS[fieldOf(issue)] ?? fieldOf(issue)} ${issue.message}.`

/** An error in this server's form, Stripe's or PayPal's. */
function errorOf({ error, details, message }) {
  const issues = error?.details?.issues
  return issues
    ? { message: issues.map(faultOf).join(' '), field: fieldOf(issues[0]) }
    : { message: error?.message ?? details?.[0]?.description ?? message }
}
