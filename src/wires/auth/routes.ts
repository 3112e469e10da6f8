import { Type } from '../../base/schema.ts'
import { healthRoute, healthStatus } from '../../http/health-route.ts'
import { route } from '../../http/route.ts'
import { mailEndpoints } from './email-links/mail-endpoints.ts'
import { providerEndpoints } from './identity-providers/provider-endpoints.ts'
import { ownAccountEndpoints } from './own-account-endpoints.ts'
import { sessionEndpoints } from './sessions/session-endpoints.ts'
import { signInEndpoints } from './sign-in-endpoints.ts'

type AuthParts = Parameters<typeof signInEndpoints>[0] &
  Parameters<typeof ownAccountEndpoints>[0] &
  Parameters<typeof mailEndpoints>[0] &
  Parameters<typeof providerEndpoints>[0] & {
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
  const { idpa, idpb } = providerEndpoints(wire)
  return [
    route('POST /auth/register', ...signIn.register),
    route('POST /auth/login', ...signIn.logIn),
    route('GET /auth/me', ...account.get),
    route('PATCH /auth/me', ...account.update),
    route('DELETE /auth/me', ...account.remove),
    route('POST /auth/logout', ...sessions.logOut),
    route('POST /auth/refresh', ...sessions.refresh),
    route('GET /auth/sessions', ...sessions.list),
    route('DELETE /auth/sessions/:id', ...sessions.revoke),
    route('POST /auth/change-password', ...account.changePassword),
    route('POST /auth/forgot-password', ...mails.forgotPassword),
    route('POST /auth/reset-password', ...mails.resetPassword),
    route('GET /auth/idpa', ...idpa.start),
    route('GET /auth/idpa/callback', ...idpa.finish),
    route('GET /auth/idpb', ...idpb.start),
    route('GET /auth/idpb/callback', ...idpb.finish),
    route('POST /auth/magic-link', ...mails.sendMagicLink),
    route('POST /auth/verify-magic-link', ...mails.redeemMagicLink),
    route('POST /auth/verify-email', ...mails.verifyEmail),
    route('POST /auth/resend-verification', ...mails.resendVerification),
    healthRoute(
      'GET /auth/health',
      { title: 'AuthHealth', summary: 'Check whether users can sign in, and how', fields: HealthFields },
      async () => ({ status: await healthStatus(() => signingKeys.check()), providers: signInMethods() }),
    ),
    route('GET /.well-known/jwks.json', ...signIn.listPublicKeys),
  ] as const
}
