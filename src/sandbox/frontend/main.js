// What a frontend of Sixwire does to sign people up and in. Tokens live as long as the tab.
const api = document.documentElement.dataset.api
const byId = (id) => document.getElementById(id)

/** @returns {Promise<any>} the answer's body; throws an Error with the server's own sentence */
async function call(route, body) {
  const [method, path] = route.split(' ')
  const token = sessionStorage.getItem('token')
  const response = await fetch(api + path, {
    method,
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(token && { authorization: `Bearer ${token}` }),
    },
    body: body && JSON.stringify(body),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(answer.error.message)
  return answer
}

function say(text, isBad = false) {
  const note = byId('note')
  note.textContent = text
  note.classList.toggle('bad', isBad)
  note.hidden = false
}

/** Does the work of a click, and says what went wrong. */
const doing = (work) => (event) => {
  event.preventDefault()
  work(event).catch((error) => say(error.message, true))
}

const keep = ({ token, refreshToken }) => {
  sessionStorage.setItem('token', token)
  sessionStorage.setItem('refreshToken', refreshToken)
}

/** Shows who is signed in, or the forms. */
async function show() {
  const isIn = sessionStorage.getItem('token') !== null
  if (isIn) {
    try {
      const { user } = await call('GET /auth/me')
      byId('who').textContent = `Signed in as ${user.email}`
      byId('verified').textContent = user.emailVerified
        ? 'This address is verified.'
        : 'This address is not verified yet: follow the link in the mail.'
      byId('resend').hidden = user.emailVerified
    } catch (error) {
      sessionStorage.clear()
      say(error.message, true)
      return show()
    }
  }
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
    await call('POST /auth/verify-email', { token: said.get('token') })
    say('Your address is verified.')
  },
  'magic-link': async (said) => {
    keep(await call('POST /auth/verify-magic-link', { token: said.get('token') }))
    say('You are signed in.')
  },
  async callback(said) {
    if (said.has('error')) throw new Error(`The provider did not sign you in: ${said.get('error')}.`)
    keep({ token: said.get('token'), refreshToken: said.get('refreshToken') })
    say('You are signed in.')
  },
  async reset(said) {
    const form = byId('reset')
    form.hidden = false
    form.addEventListener(
      'submit',
      doing(async () => {
        const password = new FormData(form).get('password')
        say((await call('POST /auth/reset-password', { token: said.get('token'), password })).message)
        sessionStorage.clear()
        form.hidden = true
        await show()
      }),
    )
  },
}

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
    await call('POST /auth/logout')
    sessionStorage.clear()
    say('You are signed out.')
    await show()
  }),
)
byId('resend').addEventListener(
  'click',
  doing(async () => say((await call('POST /auth/resend-verification')).message)),
)

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
