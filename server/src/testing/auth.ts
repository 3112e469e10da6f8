// What the tests of the auth wire share, and other tests that need an account.
import { before } from 'node:test'

import { sql } from '../db/sql.ts'
import { startApp, type TestAnswer, type StartOptions, type TestApp } from './app.ts'
import { endOfSuite, type Engine } from './engines.ts'
import type { Session } from '../wires/auth/sessions/session-list.ts'
import type { TokenPair } from '../wires/auth/sessions/sessions.ts'

export const PASSWORD = 'correct horse battery'

/** Every field that an answer of the auth wire may have; a test reads those that its answer has. */
type Body = TokenPair & {
  user: {
    _id: string
    email: string
    name?: string
    createdAt: string
    emailVerified: boolean
    metadata: Record<string, unknown>
    role: string
    phone?: string
  }
  message: string
  phone: string
  sessions: Session[]
  total: number
  limit: number
  offset: number
  nextCursor?: string
  status: string
  providers: string[]
  keys: Record<string, string>[]
  error: { code: string; message: string; details?: { issues: { path: string; message: string }[] } }
}

export type AuthReply = {
  status: number
  code: string | undefined
  headers: TestAnswer['headers']
  text: string
  body: Body
}

/** Sends a request and reads the answer as one of the auth wire. */
export async function send(
  app: TestApp,
  route: string,
  options: { body?: unknown; token?: string; headers?: Record<string, string> } = {},
): Promise<AuthReply> {
  const [method = '', path = ''] = route.split(' ')
  const answered = await app.request(method, path, options)
  const body = answered.body as Body | undefined
  return { ...answered, code: body?.error?.code, body: body as Body }
}

export const login = (app: TestApp, email: string, password = PASSWORD): Promise<AuthReply> =>
  send(app, 'POST /auth/login', { body: { email, password } })

export const refresh = (app: TestApp, refreshToken: string): Promise<AuthReply> =>
  send(app, 'POST /auth/refresh', { body: { refreshToken } })

export const me = (app: TestApp, token: string): Promise<AuthReply> => send(app, 'GET /auth/me', { token })

/** How many answers had each status: `{ 200: 1, 423: 4 }`. */
export function statuses(replies: readonly AuthReply[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

/** One server for all tests of a suite; call it where the suite is described. */
export function appForAll(engine: Engine, options: StartOptions = {}): () => TestApp {
  const ending = endOfSuite()
  let app: TestApp
  before(async () => {
    app = await startApp(ending, engine, options)
  })
  return () => app
}

/** Two servers on one database and one clock. */
export async function startReplicas(
  ending: { after(work: () => Promise<void>): void },
  engine: Engine,
  options: StartOptions = {},
): Promise<[TestApp, TestApp]> {
  const databaseUrl = await engine.migratedUrl()
  const one = await startApp(ending, engine, { ...options, databaseUrl })
  return [one, await startApp(ending, engine, { ...options, databaseUrl, clock: one.clock })]
}

/** Two servers on one database and one clock for all tests of a suite; call it where the suite is described. */
export function replicasForAll(engine: Engine, options: StartOptions = {}): () => [TestApp, TestApp] {
  const ending = endOfSuite()
  let replicas: [TestApp, TestApp]
  before(async () => {
    replicas = await startReplicas(ending, engine, options)
  })
  return () => replicas
}

/** A second factor, put there as its enrolment would. */
export async function addFactor({ app }: TestApp, userId: string): Promise<void> {
  await app.db.batch([
    sql`insert into auth_totp (user_id, secret, last_step, created_at) values (${userId}, 'sealed', 0, 0)`,
    sql`update auth_users set second_factor_at = 1 where id = ${userId}`,
  ])
}

/** A wrong code of six digits. */
export const wrongCode = (right: string): string => String((Number(right) + 1) % 1e6).padStart(6, '0')

/** A text with its ASCII digits as those of another script. @param zero that of the script */
export const inDigitsFrom = (zero: string, text: string): string =>
  text.replaceAll(/\d/g, (digit) => String.fromCodePoint(zero.codePointAt(0)! + Number(digit)))
