// What a frontend of Sixwire does to sign people up and in. All tabs share the tokens: a link in a mail opens another.
const TOKEN = 'sixwire-sandbox-token'
const REFRESH_TOKEN = 'sixwire-sandbox-refresh-token'
const SIGN_IN_MS = 600_000

const api = document.documentElement.dataset.api
const byId = (id) => document.getElementById(id)

/** @returns {Promise<any>} the answer's body; throws an Error with the server's own sentence, and its status */
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

/** A call of whoever is signed in. A token runs out, by default after an hour: one that is refused is traded for the next, once. */
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

/** A refresh token is good for one use: calls that are refused together wait for the same trade. */
function refresh() {
  refreshing ??= tradeIn().finally(() => (refreshing = undefined))
  return refreshing
}

async function tradeIn() {
  const refreshToken = localStorage.getItem(REFRESH_TOKEN)
  // Another tab may have signed out by the time of the answer, or in as somebody else.
  const isStillIt = () => localStorage.getItem(REFRESH_TOKEN) === refreshToken
  try {
    const next = await call('POST /auth/refresh', { refreshToken })
    if (isStillIt()) keep(next)
  } catch (error) {
    // Where the server was not reached, or is busy, nobody is signed out.
    if (error.status !== 400 && error.status !== 401) throw error
    if (isStillIt()) forget()
    throw Object.assign(new Error('Your session has ended: sign in again.'), { status: 401 })
  }
}

function say(text, isBad = false) {
  const note = byId('note')
  note.textContent = text
  note.classList.toggle('bad', isBad)
  note.hidden = false
}

/** Does the work of a click, and says what went wrong. That may have been the end of the session. */
const doing = (work) => (event) => {
  event.preventDefault()
  work(event).catch((error) => {
    say(error.message, true)
    if (error.status === 401 || !isSignedIn()) void show()
  })
}

const isSignedIn = () => localStorage.getItem(TOKEN) !== null

const keep = ({ token, refreshToken }) => {
  localStorage.setItem(REFRESH_TOKEN, refreshToken)
  localStorage.setItem(TOKEN, token)
}

const forget = () => {
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
      if (error.status === 401) forget()
      say(error.message, true)
    }
  }
  const isIn = isSignedIn()
  byId('signed-in').hidden = !isIn
  byId('signed-out').hidden = isIn || !byId('reset').hidden
}

const ACTIONS = {
  async login({ email, password }) {
    keep(await call('POST /auth/login', { email, password }))
    say('You are signed in.')
  },
  async register({ email, password }) {
    keep(await call('POST /auth/register', { email, password }))
    say('Your account is made. A mail asks whether the address is yours.')
  },
  'magic-link': async ({ email }) => say((await call('POST /auth/magic-link', { email })).message),
  'forgot-password': async ({ email }) => say((await call('POST /auth/forgot-password', { email })).message),
}

// The pages that mails and providers lead to. The token stands behind the #, where no server sees it.
const PAGES = {
  async verify(said) {
    // Signed in or not: who is, keeps the password where an administrator's address is verified. A token that has run
    // out counts as none, and is not refused: so it is tried where it would be, and traded for the next.
    if (isSignedIn()) await callAsUser('GET /auth/me').catch(() => undefined)
    const token = localStorage.getItem(TOKEN)
    say((await call('POST /auth/verify-email', { token: said.get('token') }, token)).message)
  },
  'magic-link': async (said) => {
    keep(await call('POST /auth/verify-magic-link', { token: said.get('token') }))
    say('You are signed in.')
  },
  async callback(said) {
    // Anybody can make a link with tokens of their own account in it, and would then read what is done there.
    const age = Date.now() - Number(sessionStorage.getItem('began'))
    sessionStorage.removeItem('began')
    if (!(age <= SIGN_IN_MS))
      throw new Error('This sign-in was not begun in this tab within the last ten minutes: begin it here.')
    if (said.has('error')) throw new Error(`You were not signed in: ${said.get('error')}.`)
    keep({ token: said.get('token'), refreshToken: said.get('refreshToken') })
    say('You are signed in.')
  },
  async reset(said) {
    resetToken = said.get('token')
    byId('reset').hidden = false
  },
}

let resetToken

byId('reset').addEventListener(
  'submit',
  doing(async () => {
    const password = new FormData(byId('reset')).get('password')
    say((await call('POST /auth/reset-password', { token: resetToken, password })).message)
    forget()
    byId('reset').hidden = true
    await show()
  }),
)
byId('account').addEventListener(
  'submit',
  doing(async (event) => {
    const given = Object.fromEntries(new FormData(byId('account')))
    await ACTIONS[event.submitter?.value ?? 'login'](given)
    await show()
  }),
)
byId('sign-out').addEventListener(
  'click',
  doing(async () => {
    await callAsUser('POST /auth/logout').finally(forget)
    say('You are signed out.')
    await show()
  }),
)
byId('resend').addEventListener(
  'click',
  doing(async () => say((await callAsUser('POST /auth/resend-verification')).message)),
)

for (const link of document.querySelectorAll('[data-provider]'))
  link.addEventListener('click', () => sessionStorage.setItem('began', Date.now()))

// Only of other tabs; null where everything was removed.
addEventListener('storage', ({ key }) => {
  if (key !== TOKEN && key !== null) return
  if (!isSignedIn()) say('You were signed out in another tab.')
  void show()
})

async function arrive() {
  const said = new URLSearchParams(location.hash.slice(1))
  const page = PAGES[location.pathname.split('/').at(-1)]
  // Out of the address line and the history: it is good for one use only.
  history.replaceState(null, '', location.pathname)
  if (page && [...said].length > 0)
    try {
      await page(said)
    } catch (error) {
      say(error.message, true)
    }
  await show()
}

// This machine has several names, and a browser keeps what it knows for each alone: providers lead back to the public
// one. Where that is no name of loopback, the sandbox may not answer to it.
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
