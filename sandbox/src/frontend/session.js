// Calls, and the session: all tabs share its tokens, because a link in a mail opens a new one.
const TOKEN = 'sixwire-sandbox-token'
const REFRESH_TOKEN = 'sixwire-sandbox-refresh-token'

const api = document.documentElement.dataset.api

/** @returns {Promise<any>} the answer's body; throws an Error with the server's message, status, code and details */
export async function call(route, body, token) {
  const [method, path] = route.split(' ')
  const response = await fetch(api + path, {
    method,
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(token && { authorization: `Bearer ${token}` }),
    },
    body: body && JSON.stringify(body),
  })
  const answer = await response.json()
  if (response.ok) return answer
  const { message, code, details } = answer.error
  throw Object.assign(new Error(message), { status: response.status, code, details })
}

/** Calls as the signed-in user. A token expires, by default after an hour; if it is refused, it is refreshed once. */
export async function callAsUser(route, body) {
  try {
    return await call(route, body, accessToken())
  } catch (error) {
    if (error.status !== 401 || error.code !== 'UNAUTHORIZED') throw error
    await refresh()
    return call(route, body, accessToken())
  }
}

let refreshing

/** A refresh token is single-use, so calls that are refused together wait for the same refresh. */
function refresh() {
  refreshing ??= exchangeToken().finally(() => (refreshing = undefined))
  return refreshing
}

async function exchangeToken() {
  const refreshToken = localStorage.getItem(REFRESH_TOKEN)
  // Another tab may have signed out or in meanwhile.
  const isCurrent = () => localStorage.getItem(REFRESH_TOKEN) === refreshToken
  try {
    const next = await call('POST /auth/refresh', { refreshToken })
    if (isCurrent()) store(next)
  } catch (error) {
    // If the server can't be reached or is busy, or asks for a second factor, the session goes on.
    if ((error.status !== 400 && error.status !== 401) || error.code === 'SECOND_FACTOR_REQUIRED') throw error
    if (isCurrent()) signOut()
    throw Object.assign(new Error('Your session has ended: sign in again.'), { status: 401 })
  }
}

export const accessToken = () => localStorage.getItem(TOKEN)
export const isSignedIn = () => accessToken() !== null

export function store({ token, refreshToken }) {
  localStorage.setItem(REFRESH_TOKEN, refreshToken)
  localStorage.setItem(TOKEN, token)
}

export function signOut() {
  localStorage.removeItem(REFRESH_TOKEN)
  localStorage.removeItem(TOKEN)
}

/** Calls the listener when another tab has signed in or out. */
export const onOtherTab = (listener) =>
  // The key is null if everything was removed.
  addEventListener('storage', ({ key }) => (key === TOKEN || key === null) && listener())
