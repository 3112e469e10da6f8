// Signs people up and in, as a frontend of Sixwire does.
import { byId } from './dom.js'
import { connectAccount, hideSecrets } from './account.js'
import { accessToken, call, callAsUser, isSignedIn, onOtherTab, signOut, store } from './session.js'
import {
  askPasskey,
  browser,
  finishSignIn,
  hasPasskeys,
  proofOf,
  signIn,
  signInWithPasskey,
  useDevice,
} from './sign-in.js'

const SIGN_IN_MS = 600_000
const FORMS = ['reset', 'second-factor', 'code', 'other-browser']

function say(text, isBad = false) {
  const note = byId('note')
  note.textContent = text
  note.classList.toggle('bad', isBad)
  note.hidden = false
}

/** Runs the work of a click and shows its error, which may be the end of the session. */
const onEvent = (work) => (event) => {
  event.preventDefault()
  work(event).catch(fail)
}

function fail(error) {
  if (error.code === 'SECOND_FACTOR_REQUIRED') return askSecondFactor(error.details)
  say(error.message, true)
  if (error.code === 'UNAUTHORIZED' || !isSignedIn()) void show()
}

const showFactors = connectAccount(onEvent, say)

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
      await showFactors()
    } catch (error) {
      if (error.code === 'SECOND_FACTOR_REQUIRED') return askSecondFactor(error.details)
      if (error.status === 401) signOut()
      say(error.message, true)
    }
  }
  const isIn = isSignedIn()
  if (!isIn) hideSecrets()
  byId('signed-in').hidden = !isIn
  byId('signed-out').hidden = isIn || FORMS.some((id) => !byId(id).hidden)
  if (!byId('signed-out').hidden) void suggestPasskeys()
}

/** Shows one form in place of all others. */
function showForm(id) {
  for (const other of FORMS) byId(other).hidden = other !== id
  byId('signed-in').hidden = true
  byId('signed-out').hidden = true
  const fields = [...byId(id).querySelectorAll('input:not([type=checkbox])')]
  // Never a button: the question above it is to be read first.
  const first = fields.find((field) => field.checkVisibility()) ?? byId(id).querySelector('h2')
  first.focus()
}

async function finish(message) {
  for (const id of FORMS) byId(id).hidden = true
  say(message)
  await show()
  // The element that had the focus is hidden now.
  if (isSignedIn()) byId('who').focus()
  else byId('account').elements.email.focus()
}

/** Passkeys among the suggestions of the browser for the address. */
async function suggestPasskeys() {
  if (!hasPasskeys || !(await PublicKeyCredential.isConditionalMediationAvailable?.())) return
  try {
    await signInWithPasskey('conditional')
    await finish('You are signed in.')
  } catch (error) {
    // Of the browser, if nobody has taken one, or of the server.
    if (error.status) fail(error)
  }
}

let challenge

/** Asks for the second factor of a sign-in. */
function askSecondFactor({ challenge: next, factors }) {
  challenge = next
  byId('factor-passkey').hidden = !factors.includes('passkey') || !hasPasskeys
  for (const id of ['factor-code', 'factor-continue'])
    byId(id).hidden = !factors.some((factor) => factor !== 'passkey')
  byId('second-factor').reset()
  showForm('second-factor')
  say('Your account needs a second factor.')
}

async function useSecondFactor(proof) {
  try {
    await finishSignIn(challenge, proof, byId('second-factor').elements.trust.checked)
  } catch (error) {
    if (error.code === 'INVALID_CHALLENGE') byId('second-factor').hidden = true
    throw error
  }
  await finish('You are signed in.')
}

let sentTo

const ACTIONS = {
  async login({ email, password }) {
    await signIn('POST /auth/login', { email, password })
    await finish('You are signed in.')
  },
  async register({ email, password }) {
    store(await call('POST /auth/register', { email, password }))
    await finish('Your account is created. Follow the link in the mail to verify the address.')
  },
  'magic-link': async ({ email }) => {
    const { message } = await call('POST /auth/magic-link', { email, browser: browser() })
    sentTo = email
    showForm('code')
    say(message)
  },
  'forgot-password': async ({ email }) => say((await call('POST /auth/forgot-password', { email })).message),
}

/**
 * Posts the token of a link. The route is public, so it ignores an expired token instead of refusing it; an administrator who is
 * signed in keeps the password. This call refreshes the token first.
 */
async function verify(route, fragment) {
  if (isSignedIn()) await callAsUser('GET /auth/me').catch(() => undefined)
  say((await call(route, { token: fragment.get('token') }, accessToken())).message)
}

async function useLink(token, confirmed) {
  await signIn('POST /auth/verify-magic-link', { token, browser: browser(), ...(confirmed && { confirmed }) })
  await finish('You are signed in.')
}

// The pages that mails and providers lead to. The token is in the fragment, which no server sees.
const PAGES = {
  verify: (fragment) => verify('POST /auth/verify-email', fragment),
  'change-email': (fragment) => verify('POST /auth/verify-email-change', fragment),
  'undo-email-change': async (fragment) => {
    say((await call('POST /auth/undo-email-change', { token: fragment.get('token') })).message)
    signOut()
  },
  'magic-link': async (fragment) => {
    linkToken = fragment.get('token')
    try {
      await useLink(linkToken)
    } catch (error) {
      if (error.code !== 'OTHER_BROWSER') throw error
      showForm('other-browser')
    }
  },
  async callback(fragment) {
    // Login CSRF: anybody can make a link with the tokens of their own account.
    const age = Date.now() - Number(sessionStorage.getItem('began'))
    sessionStorage.removeItem('began')
    if (!(age <= SIGN_IN_MS))
      throw new Error('This sign-in was not started in this tab within the last ten minutes: start it again.')
    if (fragment.get('error') === 'second_factor_required')
      await useDevice({
        code: 'SECOND_FACTOR_REQUIRED',
        details: { challenge: fragment.get('challenge'), factors: fragment.get('factors').split(',') },
      })
    else if (fragment.has('error')) throw new Error(`You were not signed in: ${fragment.get('error')}.`)
    else store({ token: fragment.get('token'), refreshToken: fragment.get('refreshToken') })
    say('You are signed in.')
  },
  async reset(fragment) {
    resetToken = fragment.get('token')
    showForm('reset')
  },
}

let resetToken
let linkToken

const on = (id, type, work) => byId(id).addEventListener(type, onEvent(work))

on('reset', 'submit', async () => {
  const { value: password } = byId('reset').elements.password
  const { message } = await call('POST /auth/reset-password', { token: resetToken, password })
  signOut()
  await finish(message)
})
on('account', 'submit', async (event) => {
  const input = Object.fromEntries(new FormData(byId('account')))
  await ACTIONS[event.submitter?.value ?? 'login'](input)
})
on('passkey', 'click', async () => {
  await signInWithPasskey()
  await finish('You are signed in.')
})
on('code', 'submit', async () => {
  const { value: code } = byId('code').elements.code
  await signIn('POST /auth/verify-code', { email: sentTo, code, browser: browser() })
  await finish('You are signed in.')
})
on('other-browser', 'submit', () => useLink(linkToken, true))
on('second-factor', 'submit', () => useSecondFactor(proofOf(byId('second-factor').elements.code.value)))
on('factor-passkey', 'click', async () => {
  const options = await call('POST /auth/second-factor/passkey-options', { challenge })
  await useSecondFactor({ passkey: await askPasskey(options) })
})
for (const button of document.querySelectorAll('.cancel'))
  button.addEventListener(
    'click',
    onEvent(async () => {
      // A refresh that needs a second factor has no session without it.
      if (!byId('second-factor').hidden) signOut()
      await finish('You are not signed in.')
    }),
  )
on('sign-out', 'click', async () => {
  await callAsUser('POST /auth/logout').finally(signOut)
  await finish('You are signed out.')
})
on('resend', 'click', async () => say((await callAsUser('POST /auth/resend-verification')).message))

for (const link of document.querySelectorAll('[data-provider]'))
  link.addEventListener('click', () => sessionStorage.setItem('began', Date.now()))

onOtherTab(() => {
  if (!isSignedIn()) say('You were signed out in another tab.')
  void show()
})

async function arrive() {
  const fragment = new URLSearchParams(location.hash.slice(1))
  const page = PAGES[location.pathname.split('/').at(-1)]
  // Removed from the address line and the history: it is single-use.
  history.replaceState(null, '', location.pathname)
  try {
    if (page && [...fragment].length > 0) await page(fragment)
  } catch (error) {
    if (error.code === 'SECOND_FACTOR_REQUIRED') return fail(error)
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
