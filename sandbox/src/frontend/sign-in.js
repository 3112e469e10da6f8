// Ways to sign in: each may need a second factor, unless this device is trusted.
import { call, store } from './session.js'

const DEVICE = 'sixwire-sandbox-device'
const BROWSER = 'sixwire-sandbox-browser'

/** By this text the server knows the browser again that has asked for a link or a code. */
export function browser() {
  if (!localStorage.getItem(BROWSER)) localStorage.setItem(BROWSER, crypto.randomUUID())
  return localStorage.getItem(BROWSER)
}

/** Signs in; throws SECOND_FACTOR_REQUIRED with a challenge if this device is not trusted. */
export async function signIn(route, body) {
  try {
    store(await call(route, body))
  } catch (error) {
    if (error.code !== 'SECOND_FACTOR_REQUIRED') throw error
    await useDevice(error)
  }
}

/** Signs in without a second factor if this device was trusted within 30 days; throws the error otherwise. */
export async function useDevice(error) {
  const deviceToken = localStorage.getItem(DEVICE)
  if (!deviceToken) throw error
  const { challenge } = error.details
  let answer
  try {
    answer = await call('POST /auth/second-factor', { challenge, deviceToken })
  } catch {
    throw error
  }
  store(answer)
}

/** @param {object} proof code, recoveryCode or passkey */
export async function finishSignIn(challenge, proof, trustDevice) {
  const answer = await call('POST /auth/second-factor', {
    challenge,
    ...proof,
    ...(trustDevice && { trustDevice }),
  })
  if (answer.deviceToken) localStorage.setItem(DEVICE, answer.deviceToken)
  store(answer)
}

/** What a person typed: six digits of an authenticator app, or else a recovery code. */
export const proofOf = (text) =>
  /^\d{3} ?\d{3}$/.test(text.trim()) ? { code: text.replaceAll(' ', '') } : { recoveryCode: text.trim() }

export const hasPasskeys = 'PublicKeyCredential' in globalThis

let asking

/** Asks the browser for a passkey: the options of the server to the JSON of a credential. A newer request aborts this one. */
export async function askPasskey({ options }, mediation) {
  asking?.abort()
  asking = new AbortController()
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  const { signal } = asking
  const credential = await navigator.credentials.get({ publicKey, signal, mediation }).catch(failed)
  return credential.toJSON()
}

export async function createPasskey({ options }) {
  asking?.abort()
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  return (await navigator.credentials.create({ publicKey }).catch(failed)).toJSON()
}

/** The browser's message of a dialog that was closed has the address of its specification. */
function failed(error) {
  throw error.name === 'NotAllowedError' ? new Error('No passkey was used.') : error
}

/** @param mediation `conditional` waits until a passkey is taken from the suggestions of the input of the address */
export async function signInWithPasskey(mediation) {
  const passkey = await askPasskey(await call('POST /auth/passkeys/sign-in-options', {}), mediation)
  await signIn('POST /auth/passkeys/sign-in', { passkey })
}
