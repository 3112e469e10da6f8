// What the tests of administration share: accounts with a role, and what the audit log has of them.
import type { TestApp, TestAnswer } from './app.ts'

export type TestPerson = { _id: string; email: string; token: string }

type AuditEntry = {
  action: string
  target?: string
  actor: { kind: string; id?: string }
  outcome: string
  before?: object
  after?: object
  reason?: string
}

/** A new account with a role, signed in. */
export async function registerAs(app: TestApp, role: 'user' | 'viewer' | 'admin'): Promise<TestPerson> {
  const person = await app.register()
  const { users } = app.app.service('auth')
  await users.update({ id: person._id }, { role })
  return person
}

/** Sends a request as a person or with a service key. */
export const as = (app: TestApp, { token }: { token: string }, route: string, body?: unknown) => {
  const [method = '', path = ''] = route.split(' ')
  return app.request(method, path, { token, body })
}

/** The code of an error. */
export const codeOf = ({ body }: TestAnswer): string | undefined =>
  (body as { error?: { code: string } } | undefined)?.error?.code

/** What the audit log has of a record, oldest first, as an administrator reads it. @param actions a noun or an action */
export async function auditOf(
  app: TestApp,
  admin: TestPerson,
  target: string,
  actions = 'user.*',
): Promise<AuditEntry[]> {
  const { body } = await as(app, admin, `GET /auth/audit?target=${target}&action=${actions}&limit=100`)
  return (body as { entries: AuditEntry[] }).entries.toReversed()
}
