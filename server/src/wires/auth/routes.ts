import { Type } from '../../base/schema.ts'
import { healthRoute, healthStatus } from '../../http/health-route.ts'
import type { Database } from '../../db/database.ts'
import { route } from '../../http/route.ts'
import type { AuditLog } from '../core/index.ts'
import { addressChangeEndpoints } from './routes/address-change-endpoints.ts'
import { mailEndpoints } from './routes/mail-endpoints.ts'
import { providerEndpoints } from './routes/provider-endpoints.ts'
import { ownAccountEndpoints } from './routes/own-account-endpoints.ts'
import { totpEndpoints } from './routes/totp-endpoints.ts'
import { passkeyEndpoints } from './routes/passkey-endpoints.ts'
import { consoleEndpoints } from './routes/administration/console-endpoints.ts'
import { sessionEndpoints } from './routes/session-endpoints.ts'
import type { Accounts } from './administration/accounts.ts'
import { consoleState } from './routes/administration/console-state.ts'
import { firstAdminEndpoint } from './routes/administration/first-admin-endpoints.ts'
import { keyEndpoints } from './routes/administration/key-endpoints.ts'
import { userActionEndpoints } from './routes/administration/user-action-endpoints.ts'
import { userImportEndpoint } from './routes/administration/user-import-endpoints.ts'
import { userEndpoints } from './routes/administration/user-endpoints.ts'
import { userSessionEndpoints } from './routes/administration/user-session-endpoints.ts'
import { noteEndpoints } from './routes/administration/note-endpoints.ts'
import { removeFactors } from './routes/administration/factor-endpoints.ts'
import { auditEndpoints } from './routes/administration/audit-endpoints.ts'
import { secondFactorEndpoints } from './routes/second-factor-endpoints.ts'
import { codeEndpoints } from './routes/code-endpoints.ts'
import { personalEndpoints } from './routes/personal-endpoints.ts'
import { phoneEndpoints } from './routes/phone-endpoints.ts'
import { signInEndpoints } from './routes/sign-in-endpoints.ts'

type AuthParts = Parameters<typeof signInEndpoints>[0] &
  Parameters<typeof ownAccountEndpoints>[0] &
  Parameters<typeof mailEndpoints>[0] &
  Parameters<typeof addressChangeEndpoints>[0] &
  Parameters<typeof totpEndpoints>[0] &
  Parameters<typeof passkeyEndpoints>[0] &
  Parameters<typeof providerEndpoints>[0] &
  Parameters<typeof codeEndpoints>[0] &
  Parameters<typeof phoneEndpoints>[0] &
  Parameters<typeof personalEndpoints>[0] &
  Parameters<typeof consoleEndpoints>[0] &
  Parameters<typeof consoleState>[0] &
  Parameters<typeof firstAdminEndpoint>[0] &
  Parameters<typeof keyEndpoints>[0] &
  Parameters<typeof noteEndpoints>[0] &
  Parameters<typeof userEndpoints>[0] &
  Parameters<typeof secondFactorEndpoints>[0] & {
    accounts: Accounts
    db: Database
    audit: AuditLog
    /** The ways to sign in that are available now. */
    signInMethods: () => string[]
  }

const HealthFields = {
  providers: Type.Array(Type.String(), { description: 'The available ways to sign in.' }),
}

/** All routes of the wire. */
export function authRoutes(wire: AuthParts) {
  const { signingKeys, signInMethods } = wire
  const signIn = signInEndpoints(wire)
  const account = ownAccountEndpoints(wire)
  const sessions = sessionEndpoints(wire.sessions)
  const mails = mailEndpoints(wire)
  const addressChange = addressChangeEndpoints(wire)
  const factors = secondFactorEndpoints(wire)
  const totp = totpEndpoints(wire)
  const passkeys = passkeyEndpoints(wire)
  const { idpa, idpb, byName, list } = providerEndpoints(wire)
  const codes = codeEndpoints(wire)
  const phone = phoneEndpoints(wire)
  const personal = personalEndpoints(wire)
  const users = userEndpoints(wire)
  const userActions = userActionEndpoints(wire)
  const userSessions = userSessionEndpoints(wire)
  const notes = noteEndpoints(wire)
  const keys = keyEndpoints(wire)
  const audit = auditEndpoints(wire)
  const ofConsole = consoleEndpoints(wire)
  return [
    route('POST /auth/register', ...signIn.register),
    route('POST /auth/login', ...signIn.logIn),
    route('GET /auth/me', ...account.get),
    route('PATCH /auth/me', ...account.update),
    route('DELETE /auth/me', ...account.remove),
    route('GET /auth/me/deletion', ...personal.deletion),
    route('GET /auth/me/export', ...personal.export),
    route('GET /auth/exports/:id', ...personal.open),
    route('POST /auth/logout', ...sessions.logOut),
    route('POST /auth/refresh', ...sessions.refresh),
    route('GET /auth/sessions', ...sessions.list),
    route('DELETE /auth/sessions/:id', ...sessions.revoke),
    route('DELETE /auth/sessions', ...sessions.revokeOthers),
    route('POST /auth/change-password', ...account.changePassword),
    route('POST /auth/passkeys/sign-in-options', ...passkeys.signInOptions),
    route('POST /auth/passkeys/sign-in', ...passkeys.signIn),
    route('POST /auth/passkeys/options', ...passkeys.creationOptions),
    route('POST /auth/passkeys', ...passkeys.create),
    route('GET /auth/passkeys', ...passkeys.list),
    route('PATCH /auth/passkeys/:id', ...passkeys.rename),
    route('DELETE /auth/passkeys/:id', ...passkeys.remove),
    route('POST /auth/totp', ...totp.offer),
    route('POST /auth/totp/verify', ...totp.verify),
    route('DELETE /auth/totp', ...totp.remove),
    route('POST /auth/recovery-codes', ...totp.replaceRecoveryCodes),
    route('POST /auth/forgot-password', ...mails.forgotPassword),
    route('POST /auth/reset-password', ...mails.resetPassword),
    route('GET /auth/idpa', ...idpa.start),
    route('GET /auth/idpa/callback', ...idpa.finish),
    route('GET /auth/idpb', ...idpb.start),
    route('GET /auth/idpb/callback', ...idpb.finish),
    route('GET /auth/providers', ...list),
    route('GET /auth/providers/:name', ...byName.start),
    route('GET /auth/providers/:name/callback', ...byName.finish),
    route('POST /auth/providers/:name/callback', ...byName.receive),
    route('POST /auth/magic-link', ...mails.sendMagicLink),
    route('POST /auth/verify-magic-link', ...mails.redeemMagicLink),
    route('POST /auth/sms-code', ...codes.sendText),
    route('POST /auth/verify-code', ...codes.redeem),
    route('POST /auth/phone', ...phone.add),
    route('POST /auth/phone/verify', ...phone.verify),
    route('DELETE /auth/phone', ...phone.remove),
    route('POST /auth/verify-email', ...mails.verifyEmail),
    route('POST /auth/resend-verification', ...mails.resendVerification),
    route('POST /auth/change-email', ...addressChange.request),
    route('POST /auth/verify-email-change', ...addressChange.verify),
    route('POST /auth/undo-email-change', ...addressChange.undo),
    route('POST /auth/second-factor', ...factors.finish),
    route('POST /auth/second-factor/passkey-options', ...factors.passkeyOptions),
    route('POST /auth/confirm', ...factors.confirm),
    route('POST /auth/confirm/passkey-options', ...factors.confirmOptions),
    route('GET /auth/factors', ...factors.overview),
    route('GET /auth/devices', ...factors.listDevices),
    route('DELETE /auth/devices/:id', ...factors.revokeDevice),
    route('POST /auth/first-admin', ...firstAdminEndpoint(wire)),
    route('GET /auth/users', ...users.list),
    route('POST /auth/users', ...users.create),
    route('POST /auth/users/import', ...userImportEndpoint(wire.accounts)),
    route('GET /auth/users/aggregate', ...users.aggregate),
    route('GET /auth/users/:id', ...users.get),
    route('PATCH /auth/users/:id', ...users.update),
    route('DELETE /auth/users/:id', ...users.remove),
    route('GET /auth/users/:id/deletion', ...personal.userDeletion),
    route('GET /auth/users/:id/export', ...personal.userExport),
    route('GET /auth/users/:id/timeline', ...personal.timeline),
    route('GET /auth/users/:id/notes', ...notes.list),
    route('POST /auth/users/:id/notes', ...notes.create),
    route('DELETE /auth/users/:id/notes/:noteId', ...notes.remove),
    route('POST /auth/users/:id/unlock', ...userActions.unlock),
    route('POST /auth/users/:id/reset', ...userActions.reset),
    route('POST /auth/users/:id/invite', ...userActions.invite),
    route('POST /auth/users/:id/verify', ...userActions.verify),
    route('POST /auth/users/:id/impersonate', ...userActions.impersonate),
    route('GET /auth/users/:id/sessions', ...userSessions.list),
    route('DELETE /auth/users/:id/sessions', ...userSessions.endAll),
    route('DELETE /auth/users/:id/sessions/:sid', ...userSessions.end),
    route('GET /auth/keys', ...keys.list),
    route('POST /auth/keys', ...keys.create),
    route('DELETE /auth/keys/:id', ...keys.revoke),
    route('DELETE /auth/users/:id/factors', ...removeFactors(wire.accounts)),
    route('GET /auth/audit', ...audit.list),
    route('GET /console/state', ...consoleState(wire)),
    route('POST /console/session', ...ofConsole.open),
    route('DELETE /console/session', ...ofConsole.end),
    healthRoute(
      'GET /auth/health',
      { title: 'AuthHealth', summary: 'Check whether users can sign in, and how', fields: HealthFields },
      async () => ({ status: await healthStatus(() => signingKeys.check()), providers: signInMethods() }),
    ),
    route('GET /.well-known/jwks.json', ...signIn.listPublicKeys),
  ] as const
}
