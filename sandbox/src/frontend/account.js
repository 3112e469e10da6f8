// The account of the user: second factors, trusted devices, address.
import { make, byId } from './dom.js'
import { callAsUser } from './session.js'
import { askPasskey, createPasskey, hasPasskeys, proofOf } from './sign-in.js'

const day = (time) => new Date(time).toLocaleDateString()

/**
 * Connects the forms and buttons of the account.
 *
 * @param onEvent runs the work of an event, and shows its error
 * @param say shows a message
 * @returns a function that shows the account as it is now
 */
export function connectAccount(onEvent, say) {
  const button = (text, work) => make('button', { type: 'button', click: onEvent(work) }, text)

  const change = async (route, body, message) => {
    const answer = await confirmed(route, body)
    say(message ?? answer.message)
    if (answer.recoveryCodes) showCodes(answer.recoveryCodes)
    await showFactors()
  }

  const passkeyItem = ({ _id, name, createdAt, lastUsedAt, synced }) => {
    const input = make('input', { name: 'name', value: name, required: true, maxlength: 100 })
    const rename = make(
      'form',
      {
        submit: onEvent(() =>
          change(`PATCH /auth/passkeys/${_id}`, { name: input.value }, 'The passkey is renamed.'),
        ),
      },
      make('label', {}, 'Name', input),
      make('button', {}, 'Rename'),
    )
    const used = lastUsedAt ? `last used ${day(lastUsedAt)}` : 'never used'
    return make(
      'li',
      {},
      make('details', {}, make('summary', {}, name), rename),
      make('p', {}, `Added ${day(createdAt)}, ${used}${synced ? ', synced' : ''}`),
      button(`Remove ${name}`, () => change(`DELETE /auth/passkeys/${_id}`)),
    )
  }

  const deviceItem = ({ _id, userAgent, expiresAt }) =>
    make(
      'li',
      {},
      make('p', {}, `${userAgent || 'Unknown browser'}, until ${day(expiresAt)}`),
      button('Stop trusting it', () => change(`DELETE /auth/devices/${_id}`)),
    )

  async function showFactors() {
    const [factors, { passkeys }, { devices }] = await Promise.all([
      callAsUser('GET /auth/factors'),
      callAsUser('GET /auth/passkeys'),
      callAsUser('GET /auth/devices'),
    ])
    byId('passkeys').replaceChildren(...passkeys.map(passkeyItem))
    byId('devices').replaceChildren(...devices.map(deviceItem))
    byId('no-devices').hidden = devices.length > 0
    byId('totp-state').textContent = factors.totp ? 'An app is set up.' : 'No app is set up.'
    byId('totp-add').hidden = factors.totp
    byId('totp-remove').hidden = !factors.totp
    byId('codes-state').textContent = `${factors.recoveryCodes} codes are left.`
    byId('recovery').hidden = !factors.totp && factors.passkeys === 0
    byId('due').hidden = factors.dueAt === undefined
    byId('due').textContent = `This account needs a second factor from ${day(factors.dueAt)} on.`
  }

  byId('passkey-add').hidden = !hasPasskeys
  const on = (id, type, work) => byId(id).addEventListener(type, onEvent(work))
  on('passkey-add', 'click', async () => {
    const passkey = await createPasskey(await confirmed('POST /auth/passkeys/options', {}))
    await change('POST /auth/passkeys', { passkey }, 'The passkey is added.')
  })
  on('totp-add', 'click', async () => {
    const { secret, uri, qr } = await confirmed('POST /auth/totp')
    byId('qr').src = `data:image/svg+xml,${encodeURIComponent(qr.svg)}`
    byId('secret').textContent = secret
    byId('authenticator').href = `${byId('authenticator').dataset.page}?${new URLSearchParams({ uri })}`
    byId('totp').hidden = false
    byId('totp').elements.code.focus()
  })
  on('totp', 'submit', async () => {
    await change('POST /auth/totp/verify', { code: byId('totp').elements.code.value })
    byId('totp').reset()
    byId('totp').hidden = true
  })
  on('totp-remove', 'click', () => change('DELETE /auth/totp'))
  on('codes-new', 'click', () => change('POST /auth/recovery-codes', undefined, 'Your older codes are void.'))
  on('codes-copy', 'click', async () => {
    await navigator.clipboard.writeText(byId('codes-text').textContent)
    say('The codes are copied.')
  })
  on('codes-stored', 'click', async () => {
    hideSecrets()
    byId('codes-new').focus()
  })
  on('address', 'submit', async () => {
    await change('POST /auth/change-email', { email: byId('address').elements.address.value })
    byId('address').reset()
  })
  return showFactors
}

/** Removes recovery codes and the secret of an app from the page: the next person who signs in must not see them. */
export function hideSecrets() {
  byId('codes').hidden = true
  byId('codes-text').textContent = ''
  byId('codes-download').removeAttribute('href')
  byId('totp').hidden = true
  byId('totp').reset()
  byId('secret').textContent = ''
  byId('qr').removeAttribute('src')
}

/** Shows recovery codes, which the server cannot show again. */
function showCodes(codes) {
  const text = codes.join('\n')
  byId('codes-text').textContent = text
  byId('codes-download').href = `data:text/plain,${encodeURIComponent(`${text}\n`)}`
  byId('codes').hidden = false
  byId('codes').focus()
}

/** Calls as the user. If that needs a recent proof, a dialog asks for one, and the call is repeated. */
async function confirmed(route, body) {
  try {
    return await callAsUser(route, body)
  } catch (error) {
    if (error.code !== 'RECENT_SIGN_IN_REQUIRED') throw error
    await confirm()
    return callAsUser(route, body)
  }
}

/** Asks for the password, or for a second factor if the account has one. */
async function confirm() {
  const factors = await callAsUser('GET /auth/factors')
  const hasFactor = factors.totp || factors.passkeys > 0
  const dialog = byId('confirm')
  const form = dialog.querySelector('form')
  const problem = byId('confirm-problem')
  form.reset()
  problem.hidden = true
  form.elements.secret.type = hasFactor ? 'text' : 'password'
  form.elements.secret.autocomplete = hasFactor ? 'one-time-code' : 'current-password'
  byId('confirm-label').textContent = hasFactor ? 'Code of your app, or a recovery code' : 'Your password'
  byId('confirm-hint').hidden = hasFactor
  byId('confirm-passkey').hidden = factors.passkeys === 0 || !hasPasskeys
  dialog.showModal()
  await new Promise((resolve, reject) => {
    const attempt = (proof) => async (event) => {
      event.preventDefault()
      try {
        await callAsUser('POST /auth/confirm', await proof())
        resolve()
        dialog.close()
      } catch (error) {
        problem.textContent = error.message
        problem.hidden = false
      }
    }
    const typed = async () =>
      hasFactor ? proofOf(form.elements.secret.value) : { password: form.elements.secret.value }
    const passkey = async () => ({
      passkey: await askPasskey(await callAsUser('POST /auth/confirm/passkey-options')),
    })
    const ending = new AbortController()
    const on = (element, type, work) => element.addEventListener(type, work, { signal: ending.signal })
    on(form, 'submit', attempt(typed))
    on(byId('confirm-passkey'), 'click', attempt(passkey))
    on(byId('confirm-cancel'), 'click', () => dialog.close())
    on(dialog, 'close', () => {
      ending.abort()
      reject(new Error('Nothing was changed.'))
    })
  })
}
