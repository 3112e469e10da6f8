import type { Static } from 'typebox'

import { parseAddress } from '../../base/email-address.ts'
import { StartError } from '../../base/start-error.ts'
import type { WireContext } from '../../kernel/wire/wire.ts'
import { createAccessTokens } from './sessions/access-tokens.ts'
import { createAddressChangeMails } from './messages/address-change-mails.ts'
import { createAddressChanges } from './sign-in/address-changes.ts'
import { createChangeLinks } from './messages/address-change-links.ts'
import { createAccountMails } from './messages/account-mails.ts'
import { createAccounts } from './administration/accounts.ts'
import { createFirstAdmin } from './administration/first-admin.ts'
import { createLock } from './accounts/lock.ts'
import { createMailLimit } from './messages/mail-limit.ts'
import { createMailTokens } from './messages/mail-tokens.ts'
import { createTokenRedemption } from './sign-in/token-redemption.ts'
import { createIdentities } from './sign-in/identity-providers/identities.ts'
import type { AuthOptions } from './options.ts'
import { createOwnAccount } from './administration/own-account.ts'
import { createPasskeyChallenges } from './sign-in/passkeys/passkey-challenges.ts'
import { createPasskeyLogin } from './sign-in/passkeys/passkey-login.ts'
import { createPasskeys } from './sign-in/passkeys/passkeys.ts'
import { createRelyingParty } from './sign-in/passkeys/relying-party.ts'
import { createPasswordLogin } from './sign-in/password-login.ts'
import { createPasswords } from './accounts/passwords.ts'
import { createProviderLogin } from './sign-in/identity-providers/provider-login.ts'
import { createProviders, issuerNamed } from './sign-in/identity-providers/providers.ts'
import { createCodeLogin } from './sign-in/code-login.ts'
import { createCodes } from './messages/codes.ts'
import { createPhones } from './messages/phones.ts'
import { createTextCodes } from './messages/text-codes.ts'
import { createTextLimit } from './messages/text-limit.ts'
import { createTexts } from './messages/texts.ts'
import { createChallenges } from './sessions/sign-in-challenges.ts'
import { createConfirmation } from './sign-in/second-factor/confirmation.ts'
import { createFactorOverview } from './factors/factor-overview.ts'
import { createSecondFactorLogin } from './sign-in/second-factor/second-factor-login.ts'
import { createTrustedDevices } from './sessions/trusted-devices.ts'
import { createOwnFactors } from './factors/own-factors.ts'
import { createRecoveryCodes } from './factors/recovery-codes.ts'
import { createFactorRequirement } from './factors/factor-requirement.ts'
import { createTotp } from './factors/totp.ts'
import { createCallerWatch } from './sessions/caller-watch.ts'
import { createConsoleSessions } from './sessions/console-sessions.ts'
import { createIssuers } from './sessions/issuers.ts'
import { createKnownDevices } from './sessions/known-devices.ts'
import { createRefreshTokens } from './sessions/refresh-tokens.ts'
import { createServiceKeys } from './sessions/service-keys.ts'
import { createSessions } from './sessions/sessions.ts'
import { createSigningKeys } from './sessions/signing-keys.ts'
import { createUsers } from './accounts/users.ts'
import type { Messaging } from '../messaging/index.ts'

type Context = WireContext & { messaging: Messaging | undefined }
type Options = Static<typeof AuthOptions>

/**
 * What the wire is made of, each part from those before it.
 *
 * @throws StartError with the option that can't work
 */
export function createAuthParts(context: Context, options: Options) {
  const accounts = accountParts(context, options)
  const sessions = sessionParts(context, options, accounts)
  const factors = factorParts(context, options, { ...accounts, ...sessions })
  return {
    ...accounts,
    ...sessions,
    ...factors,
    ...signInParts(context, options, { ...accounts, ...sessions, ...factors }),
  }
}

/** Accounts, what they know or receive, and the messages to their owners. */
function accountParts(context: Context, options: Options) {
  const { settings } = context
  const { secret } = settings
  const { registration } = options
  const admins = new Set(settings.admins.map(adminKey))
  const users = createUsers(context, { admins, firstIsAdmin: !settings.production && admins.size === 0 })
  const lock = createLock(context, {
    secret,
    maxAttempts: options.local.maxLoginAttempts,
    lockMs: options.local.lockDuration,
  })
  const passwords = createPasswords({
    cost: options.bcryptCost,
    minLength: options.local.passwordMinLength,
    names: [settings.name, 'sixwire'],
  })
  const codes = createCodes(context, { secret })
  const mailTokens = createMailTokens(
    context,
    { codes },
    {
      lifetimes: {
        reset: options.resetTokenSeconds * 1000,
        'magic-link': options.magicLinkSeconds * 1000,
        verification: options.verificationTokenSeconds * 1000,
      },
    },
  )
  const limit = createMailLimit(context, { secret })
  const mails = createAccountMails(
    context,
    { messaging: context.messaging, users, tokens: mailTokens, limit },
    { registration, invitationMs: options.invitationSeconds * 1000 },
  )
  const textCodes = createTextCodes(context, { codes })
  const textLimit = createTextLimit(context, { secret })
  const texts = createTexts(context, { messaging: context.messaging, users, textCodes, limit: textLimit })
  const phones = createPhones(context, { users, texts, textCodes, lock, mails })
  return { users, lock, passwords, mailTokens, limit, mails, textCodes, texts, phones }
}

/** Sessions, their tokens, and what a sign-in has to prove. */
function sessionParts(
  context: Context,
  options: Options,
  { users, mails }: Pick<ReturnType<typeof accountParts>, 'users' | 'mails'>,
) {
  const { settings } = context
  const { secret } = settings
  const idleMs = options.refreshTokenSeconds * 1000
  const sessionMs = options.sessionSeconds * 1000
  const signingKeys = createSigningKeys(context, {
    secret,
    tokenMs: options.accessTokenSeconds * 1000,
    rotationMs: options.signingKeySeconds * 1000,
  })
  const issuers = createIssuers(context, {
    publicUrl: settings.hasPublicUrl ? settings.publicUrl : undefined,
  })
  const accessTokens = createAccessTokens(
    context,
    { keys: signingKeys, issuers },
    {
      audience: settings.audience,
      lifetimeSeconds: options.accessTokenSeconds,
    },
  )
  const refreshTokens = createRefreshTokens(context, {
    secret,
    idleMs,
    sessionMs,
    graceMs: options.refreshGraceSeconds * 1000,
  })
  const serviceKeys = createServiceKeys(context)
  const challenges = createChallenges(context)
  const requirement = createFactorRequirement(
    context,
    { users, mails },
    {
      policy: options.secondFactor ?? (settings.production ? 'admins' : 'optional'),
      graceDays: options.secondFactorGraceDays,
    },
  )
  const knownDevices = createKnownDevices(context, { mails })
  const sessions = createSessions(
    context,
    { users, accessTokens, refreshTokens, challenges, requirement, knownDevices },
    { idleMs, sessionMs },
  )
  const consoleSessions = createConsoleSessions(context, { sessions, refreshTokens })
  const callers = createCallerWatch(context, { sessions, keys: serviceKeys })
  return {
    signingKeys,
    issuers,
    accessTokens,
    refreshTokens,
    serviceKeys,
    challenges,
    requirement,
    knownDevices,
    sessions,
    consoleSessions,
    callers,
  }
}

/** Second factors. */
function factorParts(
  context: Context,
  options: Options,
  parts: ReturnType<typeof accountParts> & ReturnType<typeof sessionParts>,
) {
  const { db, clock, log, settings } = context
  const { secret } = settings
  const { users, lock, mails, requirement } = parts
  const totp = createTotp(context, { secret, issuer: settings.name })
  const recoveryCodes = createRecoveryCodes(context, { mails }, options)
  const ownFactors = createOwnFactors(context, { users, recoveryCodes, requirement, mails })
  const devices = createTrustedDevices(context)
  const passkeys = createPasskeys({
    db,
    clock,
    log,
    users,
    ownFactors,
    relyingParty: createRelyingParty(context, options.passkeys),
    challenges: createPasskeyChallenges(context, { secret }),
  })
  const verifiers = { lock, passkeys, totp, recoveryCodes, devices }
  return { totp, ownFactors, devices, passkeys, verifiers }
}

/** The ways in, and what users and operators do with accounts. */
function signInParts(
  context: Context,
  options: Options,
  parts: ReturnType<typeof accountParts> & ReturnType<typeof sessionParts> & ReturnType<typeof factorParts>,
) {
  const { db, clock, settings } = context
  const { secret } = settings
  const { registration } = options
  const { users, lock, passwords, mailTokens, limit, mails, textCodes } = parts
  const { challenges, requirement, knownDevices, sessions, passkeys, verifiers } = parts
  const redemption = createTokenRedemption(
    context,
    { users, mailTokens, lock, passwords, mails },
    { registration },
  )
  const codeLogin = createCodeLogin(context, { users, lock, redemption, textCodes }, { secret })
  const passwordLogin = createPasswordLogin(context, { users, lock, passwords, mails }, { secret })
  const changeLinks = createChangeLinks(context)
  const addressChangeMails = createAddressChangeMails(context, {
    messaging: context.messaging,
    users,
    links: changeLinks,
    limit,
    mails,
  })
  const addressChanges = createAddressChanges({
    db,
    users,
    links: changeLinks,
    mailTokens,
    lock,
    mails,
    changeMails: addressChangeMails,
  })
  const account = createOwnAccount(context, { users, passwordLogin, mailTokens })
  const passkeyLogin = createPasskeyLogin({ db, users, sessions, passkeys })
  const secondFactor = createSecondFactorLogin({ users, sessions, challenges, verifiers })
  const confirmation = createConfirmation({ db, clock, users, passwordLogin, verifiers })
  const factors = createFactorOverview(context, { users, requirement })
  const providers = createProviders(context, options)
  const administration = {
    ...context,
    ...parts,
    issuerOf: (name: string) => issuerNamed(providers, name),
    changeLinks,
    tellsOfImpersonation: options.impersonationNotice,
  }
  const accounts = createAccounts(administration)
  const firstAdmin = createFirstAdmin(administration, {
    firstIsAdmin: !settings.production && settings.admins.length === 0,
    hasNamedAdmins: settings.admins.length > 0,
  })
  const identities = createIdentities(context, { users, mails, knownDevices, registration })
  const providerLogin = createProviderLogin(context, { identities, sessions })
  return {
    redemption,
    codeLogin,
    passwordLogin,
    changeLinks,
    addressChangeMails,
    addressChanges,
    account,
    passkeyLogin,
    secondFactor,
    confirmation,
    factors,
    accounts,
    firstAdmin,
    providers,
    providerLogin,
  }
}

function adminKey(address: string): string {
  try {
    return parseAddress(address, '').key
  } catch {
    throw new StartError(`SIXWIRE_ADMINS: "${address}" is not an email address`)
  }
}
