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
 * @throws {Error} with a message for people, and the `status` of the answer if there was one
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
  if (!ok) throw Object.assign(new Error(messageOf(answer) ?? `The server answered ${status}.`), { status })
  return answer
}

/** The message of an error, in this server's form, Stripe's or PayPal's. */
const messageOf = ({ error, details, message }) => error?.message ?? details?.[0]?.description ?? message
