import type { StandIn, StandInContext } from '../stand-in.ts'
import { ADDRESS_AND_NAME, claimsOf, createIssuer, type IssuerKind } from './issuer.ts'

const LOOK = { dress: 'idpa', protocol: 'OpenID Connect', scopes: ADDRESS_AND_NAME }

/** What all issuers for `auth.providers` have: one client with a known secret, and no variables. */
const forProviders = (
  { settings }: StandInContext,
  accepts = (secret: string): boolean => secret === 'sandbox',
): Pick<IssuerKind, 'client' | 'variablesOf'> => {
  const [before, after] = [`${settings.publicUrl}/auth/providers/`, '/callback']
  return {
    client: {
      id: 'sandbox',
      secret: 'sandbox',
      redirectUri: `${before}…${after}`,
      redirects: new RegExp(`^${RegExp.escape(before)}[a-z][a-z\\d-]*${after}$`),
      accepts,
    },
    variablesOf: () => ({}),
  }
}

/** An issuer for `oidc()`. */
export const createCompany = (context: StandInContext): StandIn =>
  createIssuer(context, {
    kind: {
      name: 'company',
      look: { ...LOOK, name: 'Company' },
      claimsOf,
      namesItself: true,
      ...forProviders(context),
    },
  })

/** An issuer for `apple()`: it answers by a form, with the name beside the token, and writes booleans as text. */
export const createApple = (context: StandInContext): StandIn =>
  createIssuer(context, {
    kind: {
      name: 'apple',
      look: { ...LOOK, name: 'Apple', scopes: { email: 'your email address', name: 'your name' } },
      claimsOf: ({ email, verified }) => ({ email, email_verified: String(verified) }),
      form: {
        fieldsOf({ name, email }) {
          const [firstName = '', ...others] = name.split(' ')
          return { user: JSON.stringify({ name: { firstName, lastName: others.join(' ') }, email }) }
        },
      },
      namesItself: false,
      ...forProviders(context, isAppleSecret(`${context.base}/apple`, context)),
    },
  })

/** The claims of a client secret. Its signature can't be checked: Apple alone knows the public keys of teams. */
const isAppleSecret =
  (audience: string, { clock }: StandInContext) =>
  (secret: string): boolean => {
    try {
      const [header, payload] = secret
        .split('.')
        .slice(0, 2)
        .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>)
      const leftMs = Number(payload!['exp']) * 1000 - clock.now()
      return (
        header!['alg'] === 'ES256' &&
        [header!['kid'], payload!['iss']].every((id) => typeof id === 'string' && id !== '') &&
        payload!['sub'] === 'sandbox' &&
        payload!['aud'] === audience &&
        leftMs > 0 &&
        leftMs <= HALF_A_YEAR_MS
      )
    } catch {
      return false
    }
  }
const HALF_A_YEAR_MS = 15_777_000_000

/** The tenant of everybody who signs in at `common`, `organizations` or `consumers`. */
const TENANT = '5a4db0c5-0000-4000-8000-000000000001'
const MANY: readonly string[] = ['common', 'organizations', 'consumers']

/** Issuers for `microsoft()`, one for each tenant: they say of no address that it is verified but by `xms_edov`. */
export const createMicrosoft = (context: StandInContext): StandIn =>
  createIssuer(context, {
    kind: {
      name: 'microsoft',
      look: { ...LOOK, name: 'Microsoft' },
      tenants: {
        published: (tenant) => (MANY.includes(tenant) ? '{tenantid}' : tenant),
        of: (tenant) => (MANY.includes(tenant) ? TENANT : tenant),
      },
      claimsOf: ({ name, email, verified }, scopes, tid) => ({
        tid,
        ...(scopes.includes('email') && { email, xms_edov: verified }),
        ...(scopes.includes('profile') && { name }),
      }),
      namesItself: false,
      ...forProviders(context),
    },
  })
