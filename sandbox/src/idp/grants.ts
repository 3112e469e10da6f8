import { randomToken, sha256 } from '../../../server/src/base/crypto.ts'
import { parseJson } from '../../../server/src/base/json.ts'
import { sql } from '../../../server/src/db/sql.ts'
import type { StandInContext } from '../stand-in.ts'

/** The authorization request of a code. */
export type AuthorizationRequest = {
  /** Exactly as it was sent; if it was left out, the client's own. */
  redirectUri: string
  /** Whether the request named it. */
  redirectUriGiven: boolean
  scope: string
  state?: string
  nonce?: string
  /** Whether the answer is a form that the browser sends. */
  isForm?: boolean
  /** PKCE, method S256 (RFC 7636). */
  challenge?: string
}

/** What a code was issued for. */
export type Grant = { personId: string; request: AuthorizationRequest; grantedAt: number; codeHash: string }

/** The codes and access tokens of one provider, stored as hashes. */
export type Grants = {
  /** Issues a single-use code that expires after ten minutes. */
  code(personId: string, request: AuthorizationRequest): Promise<string>
  /** Uses up a code and returns its grant. A second use revokes the tokens of the code (RFC 6749, section 4.1.2). */
  take(code: string): Promise<Grant | undefined>
  /** @param lifeMs the lifetime of the token */
  token(grant: Grant, lifeMs: number): Promise<string>
  /** Finds the person of a token. */
  holder(token: string): Promise<{ personId: string; scope: string } | undefined>
  /** Counts the valid tokens. */
  count(): Promise<number>
  reset(): Promise<void>
}

const CODE_MS = 600_000
/** The number of tokens that a provider keeps; the oldest are deleted, also before they expire. */
const TOKENS_KEPT = 500

/**
 * @param provider `idpa` or `idpb`
 * @param prefix the prefix of its tokens
 */
export function createGrants(
  { db, clock }: Pick<StandInContext, 'db' | 'clock'>,
  { provider, prefix = '' }: { provider: string; prefix?: string | undefined },
): Grants {
  return {
    async code(personId, request) {
      const code = randomToken()
      const now = clock.now()
      await db.batch([
        sql`delete from sandbox_codes where expires_at <= ${now}`,
        sql`delete from sandbox_tokens where expires_at <= ${now}`,
        sql`insert into sandbox_codes (code_hash, provider, person_id, details, created_at, expires_at)
            values (${sha256(code)}, ${provider}, ${personId}, ${JSON.stringify(request)}, ${now}, ${now + CODE_MS})`,
      ])
      return code
    },

    async take(code) {
      const codeHash = sha256(code)
      const [row] = await db.write<{
        person_id: string
        details: string
        created_at: number
        expires_at: number
      }>(sql`
        delete from sandbox_codes where code_hash = ${codeHash} and provider = ${provider}
        returning person_id, details, created_at, expires_at`)
      if (!row) {
        await db.write(
          sql`delete from sandbox_tokens where code_hash = ${codeHash} and provider = ${provider}`,
        )
        return undefined
      }
      if (row.expires_at <= clock.now()) return undefined
      return {
        personId: row.person_id,
        request: parseJson(row.details) as AuthorizationRequest,
        grantedAt: row.created_at,
        codeHash,
      }
    },

    async token({ personId, request, codeHash }, lifeMs) {
      const token = prefix + randomToken()
      await db.batch([
        sql`insert into sandbox_tokens (token_hash, provider, person_id, code_hash, scope, expires_at)
            values (${sha256(token)}, ${provider}, ${personId}, ${codeHash}, ${request.scope}, ${clock.now() + lifeMs})`,
        sql`delete from sandbox_tokens where provider = ${provider} and (expires_at, token_hash) <= (
              select expires_at, token_hash from sandbox_tokens where provider = ${provider}
              order by expires_at desc, token_hash desc limit 1 offset ${TOKENS_KEPT})`,
      ])
      return token
    },

    async holder(token) {
      const row = await db.get<{ person_id: string; scope: string }>(sql`
        select person_id, scope from sandbox_tokens
        where token_hash = ${sha256(token)} and provider = ${provider} and expires_at > ${clock.now()}`)
      return row && { personId: row.person_id, scope: row.scope }
    },

    async count() {
      const row = await db.get<{ total: number }>(sql`
        select count(*) as total from sandbox_tokens
        where provider = ${provider} and expires_at > ${clock.now()}`)
      return row!.total
    },

    async reset() {
      await db.batch([
        sql`delete from sandbox_codes where provider = ${provider}`,
        sql`delete from sandbox_tokens where provider = ${provider}`,
      ])
    },
  }
}
