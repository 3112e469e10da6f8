import { parseCookie, stringifySetCookie, type Cookies } from 'cookie'

import { deriveKey, randomToken, sha256 } from '../../../../base/crypto.ts'
import { ApiError } from '../../../../base/errors.ts'
import { sql } from '../../../../db/sql.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import { authErrors } from '../../errors.ts'
import type { Sessions, SignIn } from '../../sessions/sessions.ts'
import type { Identities } from './identities.ts'
import {
  methodOf,
  type LoginAttempt,
  type ProvenIdentity,
  type IdentityProvider,
} from './identity-provider.ts'
import { returnPath } from './return-path.ts'

const ATTEMPT_SECONDS = 600
const REASON_MAX = 300

// A browser sends all of its login cookies with each request. Four of the longest are below the 8 KB that common
// proxies accept for a header.
const ATTEMPTS_MAX = 4
const COOKIE_ID_LENGTH = 8
// Other names are not of this server, and may hold what no cookie can be set with.
const COOKIE_ID = /^[\w-]{8}$/

/** What `error` is if the person does not consent: RFC 6749, section 4.1.2.1; and Apple's word for it. */
const DENIALS: readonly (string | null)[] = ['access_denied', 'user_cancelled_authorize']

/** OpenID Connect Core 1.0, section 2: a subject has at most 255 ASCII characters. */
const SUBJECT = /^[\x20-\x7e]{1,255}$/

/** Where to send the browser, and the cookie to set. */
export type Redirection = { location: string; cookie?: string }

/** Where the browser goes after the sign-in. */
export type LoginDestination = {
  /** A path on `APP_URL` where the frontend goes on. */
  redirect?: string | undefined
  /** The console of this server, instead of the frontend. */
  page?: 'console' | undefined
}

/** Sign-in through an identity provider, from the first click to the frontend. */
export type ProviderLogin = {
  /**
   * Starts an attempt: redirects to the provider, or to the frontend with an error if the provider cannot be reached.
   * A browser has at most four attempts; another one replaces the oldest.
   *
   * @param cookieHeader of the request
   * @throws VALIDATION_ERROR
   */
  start(
    provider: IdentityProvider,
    cookieHeader: string | undefined,
    destination: LoginDestination,
  ): Promise<Redirection>
  /**
   * Finishes an attempt: redirects to the frontend with a session or with `error`. It has to be the browser that
   * started it, with the same provider, within ten minutes, and once.
   *
   * @param returned the parameters of the callback
   * @param cookieHeader of the request
   */
  finish(
    provider: IdentityProvider,
    returned: URLSearchParams,
    cookieHeader: string | undefined,
    client: Omit<SignIn, 'method'>,
  ): Promise<Redirection>
  /** The address of a provider's start route; its callback is below. */
  urlOf(provider: IdentityProvider): string
  /** Deletes the records of finished attempts that have expired. */
  deleteExpired(): Promise<void>
}

/** What the browser stores, sealed, until it returns. `state` starts with the id of its cookie. */
type StoredAttempt = Pick<LoginAttempt, 'state' | 'nonce' | 'codeVerifier'> & {
  provider: string
  expiresAt: number
  redirect?: string
  page?: 'console'
}

type ProviderLoginContext = Pick<WireContext, 'db' | 'clock' | 'log'> & {
  readonly publicUrl: string
  readonly appUrl: string
  /** Seals what the browser stores. */
  readonly key: ReturnType<typeof deriveKey>
  readonly secure: boolean
  /** RFC 6265bis, section 4.1.3.2: no other host of the domain can set a cookie with the prefix `__Host-`. It requires the path /. */
  readonly cookiePrefix: string
  readonly path: string
}

/**
 * Sign-in by authorisation code with PKCE, `state` and `nonce` (RFC 9700, section 2.1). The browser stores what an
 * attempt needs, so that attempts that nobody finishes cost nothing here; each that returns is recorded, so that it
 * returns once. Each attempt has a cookie of its own, so that two tabs can sign in at the same time.
 */
export function createProviderLogin(
  { db, clock, log, settings }: Pick<WireContext, 'db' | 'clock' | 'log' | 'settings'>,
  { identities, sessions }: { identities: Identities; sessions: Sessions },
): ProviderLogin {
  const { secret, publicUrl, appUrl } = settings
  const { protocol, pathname } = new URL(publicUrl)
  const secure = protocol === 'https:'
  const login: ProviderLoginContext = {
    db,
    clock,
    log,
    publicUrl,
    appUrl,
    key: deriveKey(secret, 'provider-login'),
    secure,
    cookiePrefix: secure ? '__Host-sixwire_login_' : 'sixwire_login_',
    path: secure ? '/' : `${pathname.replace(/\/$/, '')}/auth`,
  }

  return {
    async start(provider, cookieHeader, { redirect, page }) {
      const target = redirect === undefined ? undefined : returnPath(redirect, login.appUrl)
      const attempt: StoredAttempt = {
        provider: provider.name,
        state: newState(login, parseCookie(cookieHeader ?? '')),
        nonce: randomToken(),
        codeVerifier: randomToken(),
        expiresAt: login.clock.now() + ATTEMPT_SECONDS * 1000,
        ...(target !== undefined && { redirect: target }),
        ...(page !== undefined && { page }),
      }
      try {
        const { href } = await callProvider(login, provider, () =>
          provider.start(attemptOf(login, provider, attempt)),
        )
        const cookie = login.key.seal(JSON.stringify(attempt))
        return { location: href, cookie: setCookie(login, attempt.state, cookie, ATTEMPT_SECONDS) }
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        return {
          location: frontendUrl(login, { ...fragmentOf(error), redirect: target }, page),
        }
      }
    },

    async finish(provider, returned, cookieHeader, client) {
      const state = returned.get('state') ?? ''
      let attempt: StoredAttempt
      try {
        attempt = await claimAttempt(login, provider, state, parseCookie(cookieHeader ?? ''))
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        // The cookie stays: another page may have sent the browser here during a sign-in.
        return { location: frontendUrl(login, fragmentOf(error)) }
      }
      const { redirect, page } = attempt
      const cookie = setCookie(login, state, '', 0)
      try {
        const identity = await identify(login, provider, returned, attempt)
        const user = await identities.findOrCreateUser(identity, {
          provider: provider.label,
          ip: client.ip,
          userAgent: client.userAgent,
        })
        const tokens = await sessions.create(user, { ...client, method: methodOf(provider) })
        return { location: frontendUrl(login, { ...tokens, redirect }, page), cookie }
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        if (error.code !== 'SECOND_FACTOR_REQUIRED')
          client.record('sign-in-failed', {
            account: 'unknown',
            method: methodOf(provider),
            reason: error.code,
          })
        return { location: frontendUrl(login, { ...fragmentOf(error), redirect }, page), cookie }
      }
    },

    urlOf: (provider) => startUrl(login, provider),

    async deleteExpired() {
      await login.db.write(sql`delete from auth_provider_returns where expires_at <= ${login.clock.now()}`)
    },
  }
}

const cookieNameOf = (login: ProviderLoginContext, state: string): string =>
  login.cookiePrefix + state.slice(0, COOKIE_ID_LENGTH)

const setCookie = (login: ProviderLoginContext, state: string, value: string, maxAge: number): string =>
  stringifySetCookie({
    name: cookieNameOf(login, state),
    value,
    maxAge,
    path: login.path,
    httpOnly: true,
    sameSite: 'lax',
    secure: login.secure,
  })

function openAttempt(login: ProviderLoginContext, sealed: string | undefined): StoredAttempt | undefined {
  try {
    return sealed === undefined ? undefined : (JSON.parse(login.key.open(sealed)) as StoredAttempt)
  } catch {
    return undefined
  }
}

/** A state with a new cookie id, or with that of the oldest attempt if the browser has as many as it may. */
function newState(login: ProviderLoginContext, cookies: Cookies): string {
  const names = Object.keys(cookies).filter(
    (name) => name.startsWith(login.cookiePrefix) && COOKIE_ID.test(name.slice(login.cookiePrefix.length)),
  )
  if (names.length < ATTEMPTS_MAX) return randomToken()
  // A cookie that cannot be opened counts as the oldest.
  const expiryOf = (name: string): number => openAttempt(login, cookies[name])?.expiresAt ?? 0
  const oldest = names.reduce((one, other) => (expiryOf(other) < expiryOf(one) ? other : one))
  return oldest.slice(login.cookiePrefix.length) + randomToken()
}

const startUrl = (
  { publicUrl }: Pick<ProviderLoginContext, 'publicUrl'>,
  provider: IdentityProvider,
): string => `${publicUrl}/auth/${methodOf(provider)}`

const attemptOf = (
  login: ProviderLoginContext,
  provider: IdentityProvider,
  { state, nonce, codeVerifier }: StoredAttempt,
): LoginAttempt => ({
  redirectUri: `${startUrl(login, provider)}/callback`,
  state,
  nonce,
  codeVerifier,
  codeChallenge: sha256(codeVerifier),
})

/** The address at which the frontend or the console finds the tokens, or what went wrong. */
function frontendUrl(
  { publicUrl, appUrl }: ProviderLoginContext,
  values: Record<string, string | undefined>,
  page?: 'console',
): string {
  const fragment = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) fragment.set(name, value)
  return page === 'console'
    ? `${publicUrl}/console#/sign-in?${fragment.toString()}`
    : `${appUrl}/auth/callback#${fragment.toString()}`
}

/** An error for the frontend; if a second factor is required, with the challenge that it is to be sent with. */
function fragmentOf({ code, details = {} }: ApiError): Record<string, string> {
  const error = code.toLowerCase()
  if (code !== 'SECOND_FACTOR_REQUIRED') return { error }
  const { challenge, factors } = details as { challenge: string; factors: readonly string[] }
  return { error, challenge, factors: factors.join() }
}

/** Calls a provider. Whatever goes wrong, the log has the reason and the frontend one code. */
async function callProvider<T>(
  login: ProviderLoginContext,
  provider: IdentityProvider,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof ApiError) throw error
    login.log.warn(
      { provider: provider.name, reason: reasonOf(error) },
      'an identity provider could not be used',
    )
    throw authErrors.provider_error()
  }
}

/** The attempt that this browser started; of several callbacks with it, one gets it. */
async function claimAttempt(
  login: ProviderLoginContext,
  provider: IdentityProvider,
  state: string,
  cookies: Cookies,
): Promise<StoredAttempt> {
  const attempt = openAttempt(login, cookies[cookieNameOf(login, state)])
  if (!attempt || attempt.provider !== provider.name || sha256(attempt.state) !== sha256(state))
    throw authErrors.invalid_state()
  if (attempt.expiresAt <= login.clock.now()) throw authErrors.invalid_state()
  const [row] = await login.db.write(sql`
    insert into auth_provider_returns (state_hash, expires_at) values (${sha256(state)}, ${attempt.expiresAt})
    on conflict do nothing returning state_hash`)
  if (!row) throw authErrors.invalid_state()
  return attempt
}

async function identify(
  login: ProviderLoginContext,
  provider: IdentityProvider,
  returned: URLSearchParams,
  attempt: StoredAttempt,
): Promise<ProvenIdentity> {
  if (DENIALS.includes(returned.get('error'))) throw authErrors.access_denied()
  return callProvider(login, provider, async () => {
    const identity = await provider.finish(returned, attemptOf(login, provider, attempt))
    if (!SUBJECT.test(identity.subject)) throw new Error('the provider answered a subject that is not valid')
    return identity
  })
}

/** Why a call failed, without anything that was sent or answered. */
function reasonOf(error: unknown): string {
  const parts: string[] = []
  for (let one = error; one instanceof Error && parts.length < 4; one = one.cause) {
    const { code, error: word } = one as { code?: unknown; error?: unknown }
    // The message of a SyntaxError quotes the text that could not be parsed.
    parts.push(one instanceof SyntaxError ? 'not JSON' : one.message)
    for (const detail of [code, word])
      if (typeof detail === 'string' && /^[\w.-]{1,64}$/.test(detail)) parts.push(detail)
  }
  return parts.join(': ').slice(0, REASON_MAX)
}
