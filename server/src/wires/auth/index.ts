import { asset } from '../../base/asset.ts'
import { defineWire } from '../../kernel/wire/wire.ts'
import { createAuditLog } from '../core/index.ts'
import { messaging } from '../messaging/index.ts'
import type { Account, Accounts } from './administration/accounts.ts'
import type { RefusedLine } from './administration/user-import/import-users.ts'
import { mailLink, type LinkPurpose } from './messages/mail-links.ts'
import { AUTH_PROVIDERS, AUTH_SETTABLE, AuthOptions } from './options.ts'
import { openPasswords } from './accounts/passwords.ts'
import { methodOf } from './sign-in/identity-providers/identity-provider.ts'
import { TOTP_SEALED } from './factors/totp.ts'
import { authRoutes } from './routes.ts'
import { AUTH_COPIES } from './table-copies.ts'
import { authExport } from './table-exports.ts'
import { accountTimeline } from './administration/account-timeline.ts'
import { createNotes } from './administration/notes.ts'
import { accountSeries, forgetActivity } from './administration/account-series.ts'
import { authDiagnoses } from './administration/diagnoses.ts'
import { personOf } from './accounts/person.ts'
import { AUTH_TABLES } from './personal-tables.ts'
import { createAuthParts } from './parts.ts'
import { showFirstAdminLink } from './administration/first-admin.ts'
import { isServiceKey } from './sessions/service-keys.ts'
import { SIGNING_KEYS_SEALED } from './sessions/signing-keys.ts'

export { mailLink, type Account, type Accounts, type LinkPurpose, type RefusedLine }

const HOUR_MS = 3_600_000

/** Accounts, sessions, service keys, and the callers behind bearer tokens. */
export const auth = defineWire({
  name: 'auth',
  description: 'Accounts, sessions, and sign-in by password, email link or identity provider.',
  needs: [messaging.optional],
  options: AuthOptions,
  providers: AUTH_PROVIDERS,
  settable: AUTH_SETTABLE,
  migrations: asset('wires/auth/migrations/'),
  tableCopies: AUTH_COPIES,
  setup(context, options) {
    const { jobs, log, settings, server, policy } = context
    const parts = createAuthParts(context, options)
    const { users, sessions, serviceKeys, signingKeys, issuers, accounts, firstAdmin } = parts
    const { mails, texts, passkeys, providers } = parts
    const signInMethods = () => [
      'local',
      ...providers.map(methodOf),
      ...(mails.areSent ? ['magic-link'] : []),
      ...(passkeys.areOffered ? ['passkey'] : []),
      ...(texts.areSent ? ['sms'] : []),
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
      await parts.challenges.deleteExpired()
      await parts.devices.deleteExpired()
      await parts.totp.deleteExpired()
      await passkeys.deleteExpired()
      await parts.refreshTokens.deleteOld()
      await parts.callers.deleteOld()
      await parts.lock.deleteExpired()
      await parts.mailTokens.deleteExpired()
      await parts.changeLinks.deleteExpired()
      await parts.knownDevices.deleteOld()
      await forgetActivity(context)
      await parts.textCodes.deleteExpired()
      await parts.providerLogin.deleteExpired()
    })

    return {
      routes: authRoutes({
        ...parts,
        notes: createNotes(context),
        db: context.db,
        clock: context.clock,
        personalData: context.personalData,
        audit: createAuditLog(context.db),
        settings,
        server,
        registration: options.registration,
        signInMethods,
      }),
      bodyLimit: 16_384,
      service: {
        users: accounts,
        keys: serviceKeys,
        firstAdmin,
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
      close: () => serviceKeys.idle(),
      ready: () => showFirstAdminLink(context, firstAdmin),
      health: () => signingKeys.check(),
      checks: new Map(
        providers.flatMap((one) =>
          one.check ? [[`sign-in by ${one.label}`, async () => one.check?.()] as const] : [],
        ),
      ),
      figures: [
        { name: 'accounts', title: 'Accounts', kind: 'count', read: () => users.count() },
        {
          name: 'unverified-accounts',
          title: 'Not verified',
          kind: 'count',
          read: () => users.countUnverified(),
        },
        {
          name: 'locked-addresses',
          title: 'Locked',
          kind: 'count',
          isWarning: true,
          read: () => parts.lock.countLocked(),
        },
      ],
      series: accountSeries(context),
      timeline: accountTimeline(context),
      diagnoses: authDiagnoses(parts, policy),
      sealed: [SIGNING_KEYS_SEALED, ...TOTP_SEALED],
      exports: authExport({ openTotp: (sealed) => parts.totp.open(sealed) }),
      personalTables: AUTH_TABLES,
      accountOfEmail: async (email) => (await accounts.find(email))?.id,
      personOf: (account) => personOf(context.db, account, context.clock.now()),
      // Users can't verify an address if no mail can be sent.
      requiresVerifiedEmail: () => options.local.requireEmailVerification && mails.areSent,
      authenticate: (token) => (isServiceKey(token) ? serviceKeys.caller(token) : sessions.caller(token)),
      callers: parts.callers,
    }
  },
})
