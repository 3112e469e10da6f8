import { computed, signal } from '@preact/signals'

import { createClient } from '../../../client/src/index.ts'
import { toast } from './toast.tsx'

/** The account that is signed in to the console. */
export type ConsoleUser = { _id: string; email: string; role: 'user' | 'admin' | 'viewer' }

/**
 * asking: not known yet. out: nobody is signed in. in: `user` is. expired: the session has ended while the page shows work;
 * the reader signs in again in a dialog, and calls wait. unverified: `user` has to verify the address first.
 */
export type Phase = 'asking' | 'out' | 'in' | 'expired' | 'unverified'

export const phase = signal<Phase>('asking')
export const user = signal<ConsoleUser | undefined>(undefined)

/** Until when an installation in production may be changed; 0 if it is read-only. */
export const unlockedUntil = signal(0)
/** Whether the server is in production, where the console opens read-only. */
export const production = signal(true)

/** Whether this reader may change anything now: buttons of writes are disabled otherwise. */
export const canWrite = computed(
  () => user.value?.role !== 'viewer' && (!production.value || unlockedUntil.value > 0),
)

/** The address of the server, with the path prefix of a proxy. */
export const serverUrl = location.origin + location.pathname.replace(/\/console\/?$/, '')

// In memory only: a script of another page, and storage that outlives the tab, never have it.
let token: string | undefined
let renewal: Promise<boolean> | undefined
const signIns: (() => void)[] = []

type SessionReply = { token: string; user: ConsoleUser }

async function askSession(refreshToken?: string): Promise<boolean> {
  const response = await fetch(`${serverUrl}/console/session`, {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(refreshToken === undefined ? {} : { refreshToken }),
  })
  if (!response.ok) {
    if (response.status === 401 || response.status === 400) return false
    const { error } = (await response.json().catch(() => ({}))) as { error?: { message?: string } }
    throw new Error(error?.message ?? `The server answered ${response.status}.`)
  }
  const reply = (await response.json()) as SessionReply
  // What is on the page belongs to another account.
  if (user.value && user.value._id !== reply.user._id) location.reload()
  token = reply.token
  user.value = reply.user
  phase.value = 'in'
  localStorage.setItem(STORED, 'yes')
  for (const resume of signIns.splice(0)) resume()
  return true
}

/** Renews the token by the cookie, once for all calls that need it. Returns false if the session has ended. */
const renew = (): Promise<boolean> => (renewal ??= askSession().finally(() => (renewal = undefined)))

// No script can see the cookie: without this note each first visit would ask for a session in vain.
const STORED = 'sixwire console: signed in'

/** Finds out at the start whether a session goes on. */
export async function resume(): Promise<void> {
  const isIn = localStorage.getItem(STORED) !== null && (await renew().catch(refused))
  if (!isIn) phase.value = 'out'
}

function refused(error: unknown): false {
  toast((error as Error).message, { tone: 'bad' })
  return false
}

/**
 * Begins a session of the console with the tokens of a sign-in.
 *
 * @throws Error with the server's message if this account may not use the console
 */
export async function begin(refreshToken: string): Promise<void> {
  if (!(await askSession(refreshToken))) throw new Error('The sign-in has ended: sign in again.')
}

// Another tab may have signed in again meanwhile.
document.addEventListener('visibilitychange', () => {
  if (phase.value === 'expired' && !document.hidden) void renew().catch(refused)
})

/** Signs out in all tabs. */
export async function end(): Promise<void> {
  const response = await fetch(`${serverUrl}/console/session`, {
    method: 'DELETE',
    credentials: 'same-origin',
  }).catch(() => undefined)
  if (response && !response.ok) {
    refused(new Error(`You are still signed in: the server answered ${response.status}.`))
    return
  }
  token = undefined
  localStorage.removeItem(STORED)
  location.reload()
}

/** Waits until the reader has signed in again. */
function signedInAgain(signal: AbortSignal | null | undefined): Promise<void> {
  phase.value = 'expired'
  return new Promise((resolve, reject) => {
    signIns.push(resolve)
    signal?.addEventListener('abort', () => reject(signal.reason as Error))
  })
}

async function codeOf(response: Response): Promise<string | undefined> {
  const { error } = (await response
    .clone()
    .json()
    .catch(() => ({}))) as { error?: { code?: string } }
  return error?.code
}

/** `fetch` with the token of the session. After a 401 it renews the token, waits for the reader if that fails, and repeats. */
export async function fetchWithToken(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const send = () => {
    const headers = new Headers(init.headers)
    if (token !== undefined && !headers.has('authorization')) headers.set('authorization', `Bearer ${token}`)
    return fetch(input, { ...init, headers })
  }
  const sent = token
  const response = await send()
  if (response.status === 403 && (await codeOf(response)) === 'EMAIL_NOT_VERIFIED') phase.value = 'unverified'
  if (response.status !== 401 || sent === undefined) return response
  if (token === sent && !(await renew())) await signedInAgain(init.signal)
  return send()
}

/** The typed client of all screens: `six.call('GET /auth/users', { query })`. */
export const six = createClient(serverUrl, { fetch: fetchWithToken })

/** The access token, for what cannot go through `six`: an upload that tells its progress. */
export const accessToken = (): string | undefined => token

/** A client that sends no token, for what is public. */
export const anonymous = createClient(serverUrl)

/** A client to sign in with, in memory only, and what begins the session of the console once it has. */
export function createSignIn() {
  const stored = new Map<string, string>()
  const { auth } = createClient(serverUrl, {
    storage: {
      getItem: (key) => stored.get(key) ?? null,
      setItem: (key, value) => stored.set(key, value),
      removeItem: (key) => stored.delete(key),
    },
  })
  return {
    auth,
    async begin() {
      const session = stored.get(`sixwire ${serverUrl}`)
      if (session === undefined) throw new Error('The sign-in has ended: sign in again.')
      stored.clear()
      await begin((JSON.parse(session) as { refreshToken: string }).refreshToken)
    },
  }
}

export type SignInWith = ReturnType<typeof createSignIn>
