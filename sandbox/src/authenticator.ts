import type { TOTP } from 'otpauth'

import { errors, invalid } from '../../server/src/base/errors.ts'
import { newId } from '../../server/src/base/ids.ts'
import { onceResolved } from '../../server/src/base/once.ts'
import { Type } from '../../server/src/base/schema.ts'
import { sql } from '../../server/src/db/sql.ts'
import { readerOf } from './reader.ts'
import type { StandIn, StandInContext } from './stand-in.ts'

const ACCOUNTS_MAX = 100

const loadOtpauth = onceResolved(() => import('otpauth'))

type Row = { id: string; uri: string }

/** An account in the app, with its code of now. */
export type AuthenticatorAccount = {
  id: string
  issuer: string
  account: string
  code: string
  /** Until the next code. */
  expiresInSeconds: number
}

/** Stands in for an authenticator app on a person's phone: keeps secrets, and shows their codes (RFC 6238). */
export function createAuthenticator({ db, clock, base }: StandInContext): StandIn {
  const page = new URL(base).pathname
  const readBody = readerOf(
    'body',
    Type.Object({ uri: Type.String({ minLength: 1, maxLength: 2_000 }) }, { additionalProperties: false }),
  )

  async function accountOf({ id, uri }: Row): Promise<AuthenticatorAccount> {
    const totp = await readUri(uri)
    const timestamp = clock.now()
    return {
      id,
      issuer: totp.issuer,
      account: totp.label,
      code: totp.generate({ timestamp }),
      expiresInSeconds: Math.ceil(totp.remaining({ timestamp }) / 1000),
    }
  }

  const rows = () =>
    db.all(sql<Row>`select id, uri from sandbox_authenticator order by created_at desc, id desc`)

  async function add(text: string): Promise<AuthenticatorAccount> {
    const now = clock.now()
    const uri = (await readUri(text)).toString()
    const [[stored]] = await db.batch([
      // An account that is there already stays where it is.
      sql<Row>`insert into sandbox_authenticator (id, uri, created_at) values (${newId(now)}, ${uri}, ${now})
        on conflict (uri) do update set uri = excluded.uri returning id, uri`,
      sql`delete from sandbox_authenticator where id not in (
        select id from sandbox_authenticator order by created_at desc, id desc limit ${ACCOUNTS_MAX})`,
    ])
    return accountOf(stored!)
  }

  return {
    name: 'authenticator',
    takesFaults: false,
    describe: () => ({}),
    async routes(engine) {
      engine.get<{ Querystring: { uri?: string } }>('/authenticator', async ({ query: { uri } }, reply) =>
        // What is shown is after the #, as of every part of the page.
        reply.redirect(
          `${page}#authenticator${typeof uri === 'string' ? `/${encodeURIComponent(uri)}` : ''}`,
          303,
        ),
      )
      engine.get('/api/authenticator', async () => ({
        accounts: await Promise.all((await rows()).map(accountOf)),
      }))
      engine.post('/api/authenticator', async ({ body }, reply) =>
        reply.code(201).send(await add(readBody(body).uri)),
      )
      engine.delete<{ Params: { id: string } }>('/api/authenticator/:id', async ({ params: { id } }) => {
        const deleted = await db.write(sql`delete from sandbox_authenticator where id = ${id} returning id`)
        if (deleted.length === 0) throw errors.not_found({ message: 'No account has this id.' })
        return { message: 'The account is removed.' }
      })
    },
    state: async () => ({ address: `${base}/authenticator`, accounts: (await rows()).length }),
    part: { name: 'authenticator', version: async () => (await rows()).map(({ id }) => id) },
    async reset() {
      await db.write(sql`delete from sandbox_authenticator`)
    },
  }
}

/**
 * Reads a URI in the Key Uri Format, or a secret in base 32 alone, which an app takes with the usual parameters.
 *
 * @throws VALIDATION_ERROR
 */
async function readUri(text: string): Promise<TOTP> {
  const { Secret, TOTP, URI } = await loadOtpauth()
  const trimmed = text.trim()
  try {
    const otp = trimmed.includes(':')
      ? URI.parse(trimmed)
      : new TOTP({ label: 'Account', secret: Secret.fromBase32(trimmed.replaceAll(/[\s-]/g, '')) })
    if (otp instanceof TOTP && isUsual(otp)) return otp
  } catch {
    // Whatever the library says of it, a person reads the sentence below.
  }
  throw invalid({
    path: '/body/uri',
    message: 'Paste the address that a QR code holds, otpauth://totp/…, or a secret in base 32.',
  })
}

/** Zero digits or seconds, or millions of them, are no code. */
const isUsual = ({ secret, digits, period }: TOTP): boolean =>
  secret.bytes.length > 0 && digits >= 6 && digits <= 10 && period >= 1 && period <= 3_600
