import type { Clock } from '../../../../base/clock.ts'
import { checkFields, isEach, isText, optional, TEXT, type Field } from '../../../../kernel/config/fields.ts'
import { clientSecretAuth, createOpenidProvider } from './openid-connect.ts'
import { addressOf } from './provider-address.ts'
import type { IdentityProvider } from './identity-provider.ts'

/** For each call of a provider. */
export const TIMEOUT_MS = 10_000

/** The scopes with which issuers tell the address and the name. */
export const EMAIL_AND_PROFILE: readonly string[] = ['email', 'profile']

/** Where an entry of `auth.providers` is opened. */
export type ProviderPlace = {
  /** Its name. */
  name: string
  /** `auth.providers.company` */
  option: string
  clock: Clock
  production: boolean
}

export type OidcOptions = {
  /** The issuer identifier: `https://login.company.example`. Its metadata are at `/.well-known/openid-configuration` below. */
  issuer: string | undefined
  clientId: string | undefined
  clientSecret: string | undefined
  /** Its name for people. Default: the host of the issuer. */
  label?: string
  /** The scopes beside `openid`. Default: `email`, `profile`. */
  scopes?: readonly string[]
}

/** One that an administrator has set has no kind. */
export type OidcEntry = { kind?: 'oidc' } & OidcOptions

/**
 * An entry of `auth.providers`: any OpenID Connect issuer, such as Google, Okta, Keycloak or Auth0.
 *
 * @example
 * import { defineConfig, oidc } from 'sixwire'
 *
 * export default defineConfig({
 *   auth: {
 *     providers: {
 *       company: oidc({
 *         issuer: 'https://login.company.example',
 *         clientId: process.env['COMPANY_CLIENT_ID'],
 *         clientSecret: process.env['COMPANY_CLIENT_SECRET'],
 *       }),
 *     },
 *   },
 * })
 */
export const oidc = (options: OidcOptions): OidcEntry => ({ kind: 'oidc', ...options })

const SCOPES: Field = { takes: 'a list of scopes', fits: (value) => isEach(value, isText) }

/** @throws StartError with the field that is wrong */
export function openOidc({ place, entry }: { place: ProviderPlace; entry: OidcEntry }): IdentityProvider {
  checkFields(place.option, entry, {
    kind: optional(TEXT),
    issuer: TEXT,
    clientId: TEXT,
    clientSecret: TEXT,
    label: optional(TEXT),
    scopes: optional(SCOPES),
  })
  const issuer = addressOf(`${place.option}.issuer`, entry.issuer!, place)
  return createOpenidProvider(place, {
    name: place.name,
    label: entry.label ?? issuer.host,
    issuer,
    clientId: entry.clientId!,
    clientAuth: clientSecretAuth(entry.clientSecret!),
    scopes: (entry.scopes ?? EMAIL_AND_PROFILE).filter((scope) => scope !== 'openid'),
    timeoutMs: TIMEOUT_MS,
  })
}
