import { randomInt } from 'node:crypto'

import { deriveKey, randomToken, sha256 } from '../../../base/crypto.ts'
import { ApiError } from '../../../base/errors.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire.ts'
import type { AccountMails } from '../email-links/account-mails.ts'
import { authErrors } from '../errors.ts'
import type { Identities } from './identities.ts'
import type { Attempt, ProvenIdentity, Provider } from './provider.ts'
import { returnPath } from './return-path.ts'
import type { Client, Sessions } from '../sessions/sessions.ts'

const ATTEMPT_SECONDS = 600
const REASON_MAX = 300

/** OpenID Connect Core 1.0, section 2: a subject has at most 255 ASCII characters. */
const SUBJECT = /^[\x20-\x7e]{1,255}$/

/**
 * Where a browser keeps its attempts, each in a cookie: so tabs don't disturb each other, and all that it sends stays
 * below the 8 KB that proxies take for a header. A `state` begins with its slot.
 */
const SLOTS = ['0', '1', '2', '3'] as const
type Slot = (typeof SLOTS)[number]

const slotOf = (state: string): Slot | undefined => SLOTS.find((slot) => state.startsWith(slot))

/** Where a browser is sent, and the cookie that it takes along. */
export type Redirection = { location: string; cookie?: string }

/** Sign-in by way of an identity provider, from the first click to the frontend. */
export type ProviderLogin = {
  /**
   * Begins one: to the provider, or to the frontend with an error where the provider can't be reached. A browser has at
   * most four under way; another one ends the oldest.
   *
   * @param cookies the request's `cookie` header
   * @param redirect where on `APP_URL` the frontend wants to go on
   * @throws VALIDATION_ERROR
   */
  start(provider: Provider, cookies: string | undefined, redirect?: string): Promise<Redirection>
  /**
   * Ends one: to the frontend with a session, or with `error`. Only the browser that began it ends it, with the same
   * provider, within ten minutes, and once.
   *
   * @param returned the callback's parameters
   * @param cookies the request's `cookie` header
   */
  finish(
    provider: Provider,
    returned: URLSearchParams,
    cookies: string | undefined,
    client: Client,
  ): Promise<Redirection>
  /** Removes what could not come back again anyway. */
  deleteExpired(): Promise<void>
}

/** What the browser keeps, sealed, until it comes back. */
type Kept = Pick<Attempt, 'state' | 'nonce' | 'codeVerifier'> & {
  provider: string
  expiresAt: number
  redirect?: string
}

/**
 * Sign-in by authorisation code with PKCE, `state` and `nonce` (RFC 9700, section 2.1). What an attempt needs is kept by
 * the browser, sealed, so that strangers who begin many cost nothing; a row is written for each that comes back.
 */
export function createProviderLogin(
  { db, clock, log, settings }: Pick<WireContext, 'db' | 'clock' | 'log' | 'settings'>,
  { identities, sessions, mails }: { identities: Identities; sessions: Sessions; mails: AccountMails },
): ProviderLogin {
  const { secret, publicUrl, appUrl } = settings
  const key = deriveKey(secret, 'provider-login')
  const { protocol, pathname } = new URL(publicUrl)
  // RFC 6265bis, section 4.1.3.2: no other host of the domain can set a cookie with this prefix, which asks for all of /.
  const [prefix, attributes] =
    protocol === 'https:'
      ? ['__Host-', 'Path=/; HttpOnly; SameSite=Lax; Secure']
      : ['', `Path=${pathname.replace(/\/$/, '')}/auth; HttpOnly; SameSite=Lax`]

  const cookieOf = (slot: Slot): string => `${prefix}sixwire_login_${slot}`

  const cookieLine = (slot: Slot, value: string, seconds: number): string =>
    `${cookieOf(slot)}=${value}; Max-Age=${seconds}; ${attributes}`

  const redirectUri = (provider: Provider): string => `${publicUrl}/auth/${provider.name}/callback`

  const toFrontend = (said: Record<string, string | undefined>): string => {
    const fragment = new URLSearchParams()
    for (const [name, value] of Object.entries(said)) if (value !== undefined) fragment.set(name, value)
    return `${appUrl}/auth/callback#${fragment.toString()}`
  }

  /** Whatever a provider does, the log says it and the person reads one word. */
  async function asked<T>(provider: Provider, call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      log.warn({ provider: provider.name, reason: reasonOf(error) }, 'an identity provider could not be used')
      throw authErrors.provider_error()
    }
  }

  const valuesIn = (slot: Slot, cookies: string | undefined): string[] => {
    const start = `${cookieOf(slot)}=`
    const own = (cookies ?? '').split(/; */).filter((one) => one.startsWith(start))
    return own.map((one) => one.slice(start.length))
  }

  function keptIn(slot: Slot, cookies: string | undefined): Kept | undefined {
    const [value, ...others] = valuesIn(slot, cookies)
    // Two of one name: another host of the same domain may have set one of them.
    if (value === undefined || others.length > 0) return undefined
    try {
      return JSON.parse(key.open(value)) as Kept
    } catch {
      return undefined
    }
  }

  /** A slot without a cookie; else one whose cookie can't be opened; else the one with the oldest attempt. */
  function slotForNext(cookies: string | undefined): Slot {
    const empty = SLOTS.filter((slot) => valuesIn(slot, cookies).length === 0)
    // Any of them: two tabs that begin at the same moment see the same ones.
    if (empty.length > 0) return empty[randomInt(empty.length)]!
    const ends = new Map(SLOTS.map((slot) => [slot, keptIn(slot, cookies)?.expiresAt ?? 0]))
    return SLOTS.reduce((oldest, slot) => (ends.get(slot)! < ends.get(oldest)! ? slot : oldest))
  }

  /** Takes the attempt that this browser began. Of several returns with it one goes on. */
  async function take(
    provider: Provider,
    returned: URLSearchParams,
    cookies: string | undefined,
  ): Promise<{ kept: Kept; slot: Slot }> {
    const state = returned.get('state') ?? ''
    const slot = slotOf(state)
    if (slot === undefined) throw authErrors.invalid_state()
    const kept = keptIn(slot, cookies)
    if (!kept || kept.provider !== provider.name || sha256(kept.state) !== sha256(state))
      throw authErrors.invalid_state()
    if (kept.expiresAt <= clock.now()) throw authErrors.invalid_state()
    const [taken] = await db.write(sql`
      insert into auth_provider_returns (state_hash, expires_at) values (${sha256(state)}, ${kept.expiresAt})
      on conflict do nothing returning state_hash`)
    if (!taken) throw authErrors.invalid_state()
    return { kept, slot }
  }

  async function prove(provider: Provider, returned: URLSearchParams, kept: Kept): Promise<ProvenIdentity> {
    if (returned.get('error') === 'access_denied') throw authErrors.access_denied()
    return asked(provider, async () => {
      const identity = await provider.finish(returned, attemptOf(provider, kept))
      if (!SUBJECT.test(identity.subject)) throw new Error('the provider names a subject that is none')
      return identity
    })
  }

  const attemptOf = (provider: Provider, { state, nonce, codeVerifier }: Kept): Attempt => ({
    redirectUri: redirectUri(provider),
    state,
    nonce,
    codeVerifier,
    codeChallenge: sha256(codeVerifier),
  })

  /** An address that nobody has verified yet is asked to be verified; others are told what happened. */
  const firstMail = (provider: Provider, userId: string, isVerified: boolean, ip: string): readonly Sql[] =>
    isVerified ? mails.signedIn(userId, { provider: provider.label, ip }) : mails.verification(userId)

  return {
    async start(provider, cookies, redirect) {
      const target = redirect === undefined ? undefined : returnPath(redirect, appUrl)
      const slot = slotForNext(cookies)
      const kept: Kept = {
        provider: provider.name,
        state: slot + randomToken(),
        nonce: randomToken(),
        codeVerifier: randomToken(),
        expiresAt: clock.now() + ATTEMPT_SECONDS * 1000,
        ...(target !== undefined && { redirect: target }),
      }
      try {
        const { href } = await asked(provider, () => provider.start(attemptOf(provider, kept)))
        const cookie = cookieLine(slot, key.seal(JSON.stringify(kept)), ATTEMPT_SECONDS)
        return { location: href, cookie }
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        return { location: toFrontend({ error: error.code.toLowerCase(), redirect: target }) }
      }
    },

    async finish(provider, returned, cookies, client) {
      let taken: { kept: Kept; slot: Slot }
      try {
        taken = await take(provider, returned, cookies)
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        // The cookie stays: another page may have sent the browser here while a sign-in is under way.
        return { location: toFrontend({ error: error.code.toLowerCase() }) }
      }
      const { kept, slot } = taken
      const { redirect } = kept
      const removal = cookieLine(slot, '', 0)
      try {
        const identity = await prove(provider, returned, kept)
        const user = await identities.findOrCreateUser(identity, (userId, isVerified) =>
          firstMail(provider, userId, isVerified, client.ip),
        )
        mails.wake()
        // Where a second factor will stand: the person is proven here, and has no session yet.
        const tokens = await sessions.create(user, client)
        return { location: toFrontend({ ...tokens, redirect }), cookie: removal }
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        return { location: toFrontend({ error: error.code.toLowerCase(), redirect }), cookie: removal }
      }
    },

    async deleteExpired() {
      await db.write(sql`delete from auth_provider_returns where expires_at <= ${clock.now()}`)
    },
  }
}

/** Why a call failed, in words that hold nothing of what was sent or answered. */
function reasonOf(error: unknown): string {
  const said: string[] = []
  for (let one = error; one instanceof Error && said.length < 4; one = one.cause) {
    const { code, error: word } = one as { code?: unknown; error?: unknown }
    // What could not be parsed is quoted in the message.
    said.push(one instanceof SyntaxError ? 'not JSON' : one.message)
    for (const detail of [code, word])
      if (typeof detail === 'string' && /^[\w.-]{1,64}$/.test(detail)) said.push(detail)
  }
  return said.join(': ').slice(0, REASON_MAX)
}
