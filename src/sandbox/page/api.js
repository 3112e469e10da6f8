/** Where the sandbox is, as a path. */
export const root = document.documentElement.dataset.root

/** The application's own pages, or what stands in for them. */
export const appUrl = document.documentElement.dataset.app

/** Where the application's own routes are. */
export const serverUrl = location.origin + root.replace(/\/sandbox$/, '')

/**
 * Asks `/sandbox/api`.
 *
 * @param {string} method
 * @param {string} path below `/sandbox/api`
 * @param {unknown} [body]
 * @throws {Error} whose message a person can read, with the `status` of the answer where there was one
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
  if (!ok)
    throw Object.assign(new Error(answer.error?.message ?? `The server answered ${status}.`), { status })
  return answer
}
