// Signs people up and in, as a frontend of Sixwire does. All tabs share the tokens, because a link in a mail opens a new one.
const TOKEN = 'sixwire-sandbox-token'
const REFRESH_TOKEN = 'sixwire-sandbox-refresh-token'
const SIGN_IN_MS = 600_000

const api = document.documentElement.dataset.api
const byId = (id) => document.getElementById(id)

/** @returns {Promise<any>} the answer's body; throws an Error with the server's message and status */
async function call(route, body, token) {
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
  if (!response.ok) throw Object.assign(new Error(answer.error.message), { status: response.status })
  return answer
}

/** Calls as the signed-in user. A token expires, by default after an hour; if it is refused, it is refreshed once. */
async function callAsUser(route) {
  try {
    return await call(route, undefined, localStorage.getItem(TOKEN))
  } catch (error) {
    if (error.status !== 401) throw error
    await refresh()
    return call(route, undefined, localStorage.getItem(TOKEN))
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
    // If the server can't be reached or is busy, the session goes on.
    if (error.status !== 400 && error.status !== 401) throw error
    if (isCurrent()) signOut()
    throw Object.assign(new Error('Your session has ended: sign in again.'), { status: 401 })
  }
}

function say(text, isBad = false) {
  const note = byId('note')
  note.textContent = text
  note.classList.toggle('bad', isBad)
  note.hidden = false
}

/** Runs the work of a click and shows its error, which may be the end of the session. */
const onEvent = (work) => (event) => {
  event.preventDefault()
  work(event).catch((error) => {
    say(error.message, true)
    if (error.status === 401 || !isSignedIn()) void show()
  })
}

const isSignedIn = () => localStorage.getItem(TOKEN) !== null

const store = ({ token, refreshToken }) => {
  localStorage.setItem(REFRESH_TOKEN, refreshToken)
  localStorage.setItem(TOKEN, token)
}

const signOut = () => {
  localStorage.removeItem(REFRESH_TOKEN)
  localStorage.removeItem(TOKEN)
}

/** Shows who is signed in, or the forms. */
async function show() {
  if (isSignedIn()) {
    try {
      const { user } = await callAsUser('GET /auth/me')
      byId('who').textContent = `Signed in as ${user.email}`
      byId('verified').textContent = user.emailVerified
        ? 'This address is verified.'
        : 'This address is not verified yet: follow the link in the mail.'
      byId('resend').hidden = user.emailVerified
    } catch (error) {
      if (error.status === 401) signOut()
      say(error.message, true)
    }
  }
  const isIn = isSignedIn()
  byId('signed-in').hidden = !isIn
  byId('signed-out').hidden = isIn || !byId('reset').hidden
}

const ACTIONS = {
  async login({ email, password }) {
    store(await call('POST /auth/login', { email, password }))
    say('You are signed in.')
  },
  async register({ email, password }) {
    store(await call('POST /auth/register', { email, password }))
    say('Your account is created. Follow the link in the mail to verify the address.')
  },
  'magic-link': async ({ email }) => say((await call('POST /auth/magic-link', { email })).message),
  'forgot-password': async ({ email }) => say((await call('POST /auth/forgot-password', { email })).message),
}

// The pages that mails and providers lead to. The token is in the fragment, which no server sees.
const PAGES = {
  async verify(fragment) {
    // The route is public, so it ignores an expired token instead of refusing it; an administrator who is signed in
    // keeps the password. This call refreshes the token first.
    if (isSignedIn()) await callAsUser('GET /auth/me').catch(() => undefined)
    const token = localStorage.getItem(TOKEN)
    say((await call('POST /auth/verify-email', { token: fragment.get('token') }, token)).message)
  },
  'magic-link': async (fragment) => {
    store(await call('POST /auth/verify-magic-link', { token: fragment.get('token') }))
    say('You are signed in.')
  },
  async callback(fragment) {
    // Login CSRF: anybody can make a link with the tokens of their own account.
    const age = Date.now() - Number(sessionStorage.getItem('began'))
    sessionStorage.removeItem('began')
    if (!(age <= SIGN_IN_MS))
      throw new Error('This sign-in was not started in this tab within the last ten minutes: start it again.')
    if (fragment.has('error')) throw new Error(`You were not signed in: ${fragment.get('error')}.`)
    store({ token: fragment.get('token'), refreshToken: fragment.get('refreshToken') })
    say('You are signed in.')
  },
  async reset(fragment) {
    resetToken = fragment.get('token')
    byId('reset').hidden = false
  },
}

let resetToken

byId('reset').addEventListener(
  'submit',
  onEvent(async () => {
    const password = new FormData(byId('reset')).get('password')
    say((await call('POST /auth/reset-password', { token: resetToken, password })).message)
    signOut()
    byId('reset').hidden = true
    await show()
  }),
)
byId('account').addEventListener(
  'submit',
  onEvent(async (event) => {
    const input = Object.fromEntries(new FormData(byId('account')))
    await ACTIONS[event.submitter?.value ?? 'login'](input)
    await show()
  }),
)
byId('sign-out').addEventListener(
  'click',
  onEvent(async () => {
    await callAsUser('POST /auth/logout').finally(signOut)
    say('You are signed out.')
    await show()
  }),
)
byId('resend').addEventListener(
  'click',
  onEvent(async () => say((await callAsUser('POST /auth/resend-verification')).message)),
)

for (const link of document.querySelectorAll('[data-provider]'))
  link.addEventListener('click', () => sessionStorage.setItem('began', Date.now()))

// Sent by other tabs only; the key is null if everything was removed.
addEventListener('storage', ({ key }) => {
  if (key !== TOKEN && key !== null) return
  if (!isSignedIn()) say('You were signed out in another tab.')
  void show()
})

async function arrive() {
  const fragment = new URLSearchParams(location.hash.slice(1))
  const page = PAGES[location.pathname.split('/').at(-1)]
  // Removed from the address line and the history: it is single-use.
  history.replaceState(null, '', location.pathname)
  if (page && [...fragment].length > 0)
    try {
      await page(fragment)
    } catch (error) {
      say(error.message, true)
    }
  await show()
}

// This machine has several names, and a browser has a storage for each: providers lead back to the public one. If that is
// not a loopback name, the sandbox may not answer to it.
const LOOPBACK = /^(?:(?:.+\.)?localhost|127\.[\d.]+|\[::1\])$/
const home = new URL(document.documentElement.dataset.origin)
const isSameServer =
  location.port === home.port && [location, home].every(({ hostname }) => LOOPBACK.test(hostname))
if (location.origin !== home.origin && isSameServer)
  location.replace(home.origin + location.pathname + location.hash)
else {
  addEventListener('hashchange', () => void arrive())
  await arrive()
}
