import { StartError } from '../../../../base/start-error.ts'
import { checkFields, isEach, optional, SWITCH, TEXT, type Field } from '../../../../kernel/config/fields.ts'
import { authErrors } from '../../errors.ts'
import { EMAIL_AND_PROFILE, TIMEOUT_MS, type ProviderPlace } from './oidc.ts'
import { clientSecretAuth, createOpenidProvider, isTrue } from './openid-connect.ts'
import { addressOf } from './provider-address.ts'
import { IdentityProviderFault, type IdentityProvider, type ProvenIdentity } from './identity-provider.ts'

const AUTHORITY = 'https://login.microsoftonline.com'
const TENANT_ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/
/** The tenant of all personal accounts. */
const PERSONAL = '9188040d-6c67-4c5b-b112-36a304b66dad'
/** The audiences of many tenants, each with the tenant in the issuer of its metadata. */
const AUDIENCES: Readonly<Record<string, string>> = {
  common: '{tenantid}',
  organizations: '{tenantid}',
  consumers: PERSONAL,
}

export type MicrosoftOptions = {
  /**
   * The id of a tenant, for its members and guests; or `common` (work, school and personal accounts), `organizations` (work
   * and school accounts) or `consumers` (personal accounts), for anybody who has one, unless `tenants` lists who may.
   */
  tenant: string | undefined
  clientId: string | undefined
  clientSecret: string | undefined
  /** The ids of the only tenants whose accounts may sign in, with `common` or `organizations`. */
  tenants?: readonly string[]
  /**
   * Treats every address as verified. A person who can change accounts of the tenant can then write any address into one, and
   * so sign in to the account of that address here. Needs the id of a tenant.
   */
  trustEmail?: boolean
  /** Its name for people. Default: `Microsoft`. */
  label?: string
  /** Of a national cloud, or for tests. Default: `https://login.microsoftonline.com`. */
  authority?: string
}

export type MicrosoftEntry = { kind: 'microsoft' } & MicrosoftOptions

/**
 * An entry of `auth.providers`: Microsoft's accounts (Entra ID and personal ones).
 *
 * An address counts as verified only if the claim `xms_edov` says so, which the registration of the application has to ask
 * for: anybody with a tenant of their own can write any address into its accounts.
 * https://learn.microsoft.com/entra/identity-platform/optional-claims-reference
 *
 * @example
 * import { defineConfig, microsoft } from 'sixwire'
 *
 * export default defineConfig({
 *   auth: {
 *     providers: {
 *       work: microsoft({
 *         tenant: 'organizations',
 *         clientId: process.env['MICROSOFT_CLIENT_ID'],
 *         clientSecret: process.env['MICROSOFT_CLIENT_SECRET'],
 *       }),
 *     },
 *   },
 * })
 */
export const microsoft = (options: MicrosoftOptions): MicrosoftEntry => ({ kind: 'microsoft', ...options })

const isTenantId = (value: unknown): boolean =>
  typeof value === 'string' && TENANT_ID.test(value.toLowerCase())
const TENANT: Field = {
  takes: `the id of a tenant, or ${Object.keys(AUDIENCES).join(', ')}`,
  fits: (value) => isTenantId(value) || Object.keys(AUDIENCES).includes(value as string),
  choices: Object.keys(AUDIENCES),
}
const TENANTS: Field = {
  takes: 'a list of ids of tenants',
  fits: (value) => Array.isArray(value) && value.length > 0 && isEach(value, isTenantId),
}

/** @throws StartError with the field that is wrong */
export function openMicrosoft({
  place,
  entry,
}: {
  place: ProviderPlace
  entry: MicrosoftEntry
}): IdentityProvider {
  checkFields(place.option, entry, {
    kind: TEXT,
    tenant: TENANT,
    clientId: TEXT,
    clientSecret: TEXT,
    tenants: optional(TENANTS),
    trustEmail: optional(SWITCH),
    label: optional(TEXT),
    authority: optional(TEXT),
  })
  const { option } = place
  const tenant = entry.tenant!.toLowerCase()
  const tenants = entry.tenants?.map((one) => one.toLowerCase())
  if (tenants && (isTenantId(tenant) || tenant === 'consumers'))
    throw new StartError(`${option}: tenants needs tenant: 'common' or 'organizations'`)
  if (entry.trustEmail && !isTenantId(tenant))
    throw new StartError(`${option}: trustEmail needs the id of one tenant: anybody can have another one`)
  const authority = addressOf(`${option}.authority`, entry.authority ?? AUTHORITY, place).href.replace(
    /\/+$/,
    '',
  )

  return createOpenidProvider(place, {
    name: place.name,
    label: entry.label ?? 'Microsoft',
    issuer: new URL(`${authority}/${tenant}/v2.0`),
    tenants: {
      knownAs: new URL(`${AUTHORITY}/${tenant}/v2.0`),
      issuer: `${authority}/${AUDIENCES[tenant] ?? tenant}/v2.0`,
    },
    clientId: entry.clientId!,
    clientAuth: clientSecretAuth(entry.clientSecret!),
    scopes: EMAIL_AND_PROFILE,
    refine(identity, { idToken, source }): ProvenIdentity {
      const tid = idToken['tid']
      // The issuer of the token was compared with this very claim.
      if (!isTenantId(tid)) throw new IdentityProviderFault('the ID token is of no tenant')
      const isListed = tenants
        ? tenants.includes(tid as string)
        : tenant !== 'organizations' || tid !== PERSONAL
      if (!isListed) throw authErrors.access_denied()
      // Of one source with the address: the user info never has the claim.
      return { ...identity, emailVerified: entry.trustEmail === true || isVerified(source['xms_edov']) }
    },
    timeoutMs: TIMEOUT_MS,
  })
}

/** Microsoft has written it in each of these ways. */
const isVerified = (edov: unknown): boolean => isTrue(edov) || edov === 1 || edov === '1'
