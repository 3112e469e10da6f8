import { asset } from '../../base/asset.ts'
import { StartError } from '../../base/start-error.ts'
import { findingIf, warning } from '../../kernel/diagnosis.ts'
import { defineWire } from '../../kernel/wire.ts'
import { createAccessTokens } from './sessions/access-tokens.ts'
import { messaging } from '../messaging/index.ts'
import { createAccountMails } from './email-links/account-mails.ts'
import { createAccounts, type Account, type Accounts } from './accounts.ts'
import { parseAddress } from '../../base/email-address.ts'
import { createLock } from './passwords/lock.ts'
import { createMailLimit } from './email-links/mail-limit.ts'
import { mailLink } from './email-links/mail-links.ts'
import type { MailPurpose } from './email-links/mail-tokens.ts'
import { createMailTokens } from './email-links/mail-tokens.ts'
import { createTokenRedemption } from './email-links/token-redemption.ts'
import { createIdentities } from './identity-providers/identities.ts'
import { AUTH_PROVIDERS, AuthOptions } from './options.ts'
import { createOwnAccount } from './own-account.ts'
import { createPasswordLogin } from './passwords/password-login.ts'
import { createPasswords, openPasswords } from './passwords/passwords.ts'
import { createProviderLogin } from './identity-providers/provider-login.ts'
import { createProviders } from './identity-providers/providers.ts'
import { createCallerWatch } from './sessions/caller-watch.ts'
import { createIssuers } from './sessions/issuers.ts'
import { createRefreshTokens } from './sessions/refresh-tokens.ts'
import { authRoutes } from './routes.ts'
import { createServiceKeys, isServiceKey } from './sessions/service-keys.ts'
import { createSessions } from './sessions/sessions.ts'
import { createSigningKeys, SIGNING_KEYS_SEALED } from './sessions/signing-keys.ts'
import { createUsers } from './users.ts'

export { mailLink, type Account, type Accounts, type MailPurpose }

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Accounts, sessions, service keys, and the callers behind bearer tokens. */
export const auth = defineWire({
  name: 'auth',
  description: 'Accounts, sessions, and sign-in by password, email link or identity provider.',
  needs: [messaging.optional],
  options: AuthOptions,
  providers: AUTH_PROVIDERS,
  migrations: asset('wires/auth/migrations/'),
  setup(context, options) {
    const { db, clock, jobs, log, settings, policy } = context
    const { secret } = settings
    const idleMs = options.refreshTokenSeconds * 1000
    const sessionMs = options.sessionSeconds * 1000
    const tokenMs = options.accessTokenSeconds * 1000

    const admins = new Set(settings.admins.map(adminKey))
    const users = createUsers(context, { admins, firstIsAdmin: !settings.production && admins.size === 0 })
    const signingKeys = createSigningKeys(db, clock, {
      secret,
      tokenMs,
      rotationMs: options.signingKeySeconds * 1000,
    })
    const issuers = createIssuers(db, clock, settings.hasPublicUrl ? settings.publicUrl : undefined)
    const accessTokens = createAccessTokens({ keys: signingKeys, issuers }, clock, {
      audience: settings.name,
      lifetimeSeconds: options.accessTokenSeconds,
    })
    const refreshTokens = createRefreshTokens(context, {
      secret,
      idleMs,
      sessionMs,
      graceMs: options.refreshGraceSeconds * 1000,
    })
    const sessions = createSessions(context, { users, accessTokens, refreshTokens }, { idleMs, sessionMs })
    const serviceKeys = createServiceKeys(db, clock, context.record)
    const callers = createCallerWatch(db, sessions, serviceKeys)
    const lock = createLock(db, clock, {
      secret,
      maxAttempts: options.local.maxLoginAttempts,
      lockMs: options.local.lockDuration,
    })
    const passwords = createPasswords({
      cost: options.bcryptCost,
      minLength: options.local.passwordMinLength,
      names: [settings.name, 'sixwire'],
    })
    const { registration } = options
    const mailTokens = createMailTokens(db, clock, {
      reset: options.resetTokenSeconds * 1000,
      'magic-link': options.magicLinkSeconds * 1000,
      verification: options.verificationTokenSeconds * 1000,
    })
    const limit = createMailLimit(context.rateLimiter, { secret })
    const mails = createAccountMails(
      context,
      { messaging: context.messaging, users, tokens: mailTokens, limit },
      { registration },
    )
    const redemption = createTokenRedemption(
      db,
      { users, mailTokens, lock, passwords, mails },
      { registration },
    )
    const passwordLogin = createPasswordLogin(db, { users, lock, passwords, mails })
    const account = createOwnAccount(db, { users, passwordLogin, mailTokens, sessions })
    const providers = createProviders(clock, options, settings)
    const identities = createIdentities(db, clock, { users, mails, registration })
    const providerLogin = createProviderLogin(context, { identities, sessions })
    const signInMethods = () => [
      'local',
      ...providers.map(({ name }) => name),
      ...(mails.areSent ? ['magic-link'] : []),
    ]

    context.metrics.eventCounter(
      {
        name: 'sixwire_sign_ins_total',
        help: 'Sign-ins by this process since its start, by their method and outcome: success, or why they failed',
        labels: ['method', 'outcome'],
      },
      {
        'sign-in': ({ method = '' }) => ({ method, outcome: 'success' }),
        'sign-in-failed': ({ method = 'password', reason = '' }) => ({
          method,
          outcome: reason.toLowerCase(),
        }),
      },
    )

    jobs.every('auth.signing-keys', HOUR_MS, () => signingKeys.rotate())
    jobs.every('auth.clean', HOUR_MS, async () => {
      await sessions.deleteExpired()
      await refreshTokens.deleteOld()
      await callers.deleteOld()
      await lock.deleteExpired()
      await mailTokens.deleteExpired()
      await providerLogin.deleteExpired()
    })

    return {
      routes: authRoutes({
        users,
        account,
        sessions,
        passwords,
        passwordLogin,
        mails,
        redemption,
        providers,
        providerLogin,
        signingKeys,
        registration,
        signInMethods,
      }),
      bodyLimit: 16_384,
      service: {
        users: createAccounts(context, { users, sessions, passwords, lock, mails }),
        keys: serviceKeys,
      },
      warnings:
        !settings.hasFrontend && (mails.areSent || providers.length > 0)
          ? [
              `APP_URL: it is not set: links in emails and sign-ins through identity providers lead to ${settings.publicUrl}/auth/…, where there is no page. Set it to the address of your frontend.`,
            ]
          : [],
      async start() {
        // A developer's start need not wait for it; a server that can check no password must not become ready.
        if (settings.production) await openPasswords()
        await signingKeys.start()
        await issuers.start()
        const accounts = policy.requiresVerifiedEmail() ? await users.countUnverified() : 0
        if (accounts > 0)
          log.warn(
            { accounts },
            `${accounts} account${accounts === 1 ? '' : 's'} can use only /auth/* because the address is not verified, the policy is guarded and email is configured. Users get a link with POST /auth/resend-verification, sixwire user verify EMAIL verifies one address, and auth.local.requireEmailVerification: false turns the rule off.`,
          )
      },
      health: () => signingKeys.check(),
      diagnoses: [
        {
          name: 'unverified users',
          about: 'accounts that can use only /auth/* because their address is not verified',
          async find() {
            const accounts = policy.requiresVerifiedEmail() ? await users.countUnverified() : 0
            return findingIf(accounts > 0, () =>
              warning(
                `${accounts} account${accounts === 1 ? '' : 's'} can use only /auth/* because the address is not verified`,
                'users get a link with POST /auth/resend-verification; sixwire user verify EMAIL verifies one address',
              ),
            )
          },
        },
        {
          name: 'signing key',
          about: 'whether the key of access tokens is replaced in time',
          async find() {
            const overdueMs = await signingKeys.overdueMs()
            return findingIf(overdueMs > DAY_MS, () =>
              warning(
                `the key that signs access tokens should have been replaced ${Math.floor(overdueMs / DAY_MS)} days ago`,
                'a running server replaces it within an hour: start one, or see why its job auth.signing-keys fails',
              ),
            )
          },
        },
      ],
      sealed: [SIGNING_KEYS_SEALED],
      // Users can't verify an address if no mail can be sent.
      requiresVerifiedEmail: () => options.local.requireEmailVerification && mails.areSent,
      authenticate: (token) => (isServiceKey(token) ? serviceKeys.caller(token) : sessions.caller(token)),
      callers,
    }
  },
})

function adminKey(address: string): string {
  try {
    return parseAddress(address, '').key
  } catch {
    throw new StartError(`SIXWIRE_ADMINS: "${address}" is not an email address`)
  }
}
