// Not the whole of jose, which a start would load.
import { JOSEError } from 'jose/errors'
import { SignJWT } from 'jose/jwt/sign'
import { jwtVerify } from 'jose/jwt/verify'

import { BoundedMap } from '../../../base/bounded-map.ts'
import { randomToken } from '../../../base/crypto.ts'
import type { Issuers } from './issuers.ts'
import { ALGORITHM, type SigningKeys } from './signing-keys.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

const CACHE_MAX = 10_000

/** RFC 9068, section 2.1: keeps any other kind of JWT that these keys sign from passing as an access token. */
const TYPE = 'at+jwt'

/** The user and session that a token names. Whether the session still exists has to be checked too. */
export type AccessClaims = { userId: string; sessionId: string }

/** What a verified token says. */
export type VerifiedClaims = AccessClaims & {
  /** In milliseconds since 1970. */
  expiresAt: number
}

export type AccessTokens = {
  /**
   * A signed token for a session.
   *
   * @param claims.sessionEndsAt the token expires no later, in milliseconds since 1970
   * @param claims.actorId the administrator who acts as the user: claim `act` (RFC 8693, section 4.1)
   */
  issue(claims: AccessClaims & { role: string; sessionEndsAt: number; actorId?: string }): Promise<string>
  /** The claims of a token, at once if it was verified before; undefined if it is not valid or has expired. */
  verify(token: string): VerifiedClaims | undefined | Promise<VerifiedClaims | undefined>
}

/**
 * Access tokens: JWTs (RFC 7519, profile of RFC 9068) signed with Ed25519.
 * Verified ones are cached, because verifying a signature costs more than the rest of a call.
 *
 * @param issuers claim `iss`
 * @param options.audience claim `aud`
 * @param options.lifetimeSeconds `exp` minus `iat`, unless the session ends before that
 */
export function createAccessTokens(
  { clock }: Pick<WireContext, 'clock'>,
  { keys, issuers }: { keys: SigningKeys; issuers: Issuers },
  options: { audience: string; lifetimeSeconds: number },
): AccessTokens {
  const { audience, lifetimeSeconds } = options
  const cache = new BoundedMap<string, VerifiedClaims>(CACHE_MAX)

  async function verifySignature(token: string): Promise<VerifiedClaims | undefined> {
    try {
      const { payload } = await jwtVerify(token, ({ kid }) => keys.verifier(kid), {
        algorithms: [ALGORITHM],
        typ: TYPE,
        audience,
        currentDate: new Date(clock.now()),
        requiredClaims: ['iss', 'sub', 'sid', 'exp'],
      })
      if (!(await issuers.includes(String(payload.iss)))) return undefined
      const claims = {
        userId: String(payload.sub),
        sessionId: String(payload['sid']),
        expiresAt: payload.exp! * 1000,
      }
      cache.set(token, claims)
      return claims
    } catch (error) {
      // Any other error, such as an unreachable database, says nothing about the token.
      if (error instanceof JOSEError) return undefined
      throw error
    }
  }

  return {
    async issue({ userId, sessionId, role, sessionEndsAt, actorId }) {
      const { kid, privateKey } = await keys.signer()
      const issuedAt = Math.floor(clock.now() / 1000)
      // `jti` makes two tokens of the same second different.
      const act = actorId === undefined ? {} : { act: { sub: actorId } }
      return new SignJWT({ sid: sessionId, role, jti: randomToken().slice(0, 22), ...act })
        .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid })
        .setIssuer(issuers.own())
        .setAudience(audience)
        .setSubject(userId)
        .setIssuedAt(issuedAt)
        .setExpirationTime(Math.min(issuedAt + lifetimeSeconds, Math.floor(sessionEndsAt / 1000)))
        .sign(privateKey)
    },

    verify(token) {
      const cachedClaims = cache.get(token)
      if (!cachedClaims) return verifySignature(token)
      if (cachedClaims.expiresAt > clock.now()) return cachedClaims
      cache.delete(token)
      return undefined
    },
  }
}
