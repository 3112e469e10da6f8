// What the tests of this wire share.
import { after, before } from 'node:test'

import { startApp, type StartOptions, type TestApp } from '../../testing/app.ts'
import type { Engine } from '../../testing/engines.ts'
import type { Session, Tokens } from './sessions.ts'

export const PASSWORD = 'correct horse battery'

/** Every field that an answer of this wire may have; a test reads those that its answer has. */
type Body = Tokens & {
  user: {
    _id: string
    email: string
    name?: string
    createdAt: string
    emailVerified: boolean
    metadata: Record<string, unknown>
    role: string
  }
  message: string
  sessions: Session[]
  total: number
  limit: number
  offset: number
  status: string
  providers: string[]
  keys: Record<string, string>[]
  error: { code: string; message: string; details?: { issues: { path: string; message: string }[] } }
}

export type Reply = { status: number; code: string | undefined; headers: Headers; text: string; body: Body }

/** Sends a request and reads the answer as one of this wire. */
export async function send(
  app: TestApp,
  route: string,
  options: { body?: unknown; token?: string; headers?: Record<string, string> } = {},
): Promise<Reply> {
  const [method = '', path = ''] = route.split(' ')
  const { status, headers, text, body } = await app.request(method, path, options)
  const read = body as Body | undefined
  return { status, code: read?.error?.code, headers, text, body: read as Body }
}

export const login = (app: TestApp, email: string, password = PASSWORD): Promise<Reply> =>
  send(app, 'POST /auth/login', { body: { email, password } })

export const refresh = (app: TestApp, refreshToken: string): Promise<Reply> =>
  send(app, 'POST /auth/refresh', { body: { refreshToken } })

export const me = (app: TestApp, token: string): Promise<Reply> => send(app, 'GET /auth/me', { token })

/** How many answers had each status: `{ 200: 1, 423: 4 }`. */
export function statuses(replies: readonly Reply[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

/** One server for all tests of a suite; call it where the suite is described. */
export function appForAll(engine: Engine, options: StartOptions = {}): () => TestApp {
  const endings: (() => Promise<void>)[] = []
  let app: TestApp
  before(async () => {
    app = await startApp({ after: (work) => void endings.push(work) }, engine, options)
  })
  after(async () => {
    for (const end of endings.toReversed()) await end()
  })
  return () => app
}

/** Two servers on one database and one clock. */
export async function startReplicas(
  ending: { after(work: () => Promise<void>): void },
  engine: Engine,
  options: StartOptions = {},
): Promise<[TestApp, TestApp]> {
  const databaseUrl = await engine.freshUrl()
  const one = await startApp(ending, engine, { ...options, databaseUrl })
  return [one, await startApp(ending, engine, { ...options, databaseUrl, clock: one.clock })]
}

/** The options under `local`, with some of their own. */
export const local = (own: {
  maxLoginAttempts?: number
  lockDuration?: number
  passwordMinLength?: number
}) => ({
  passwordMinLength: 8,
  requireEmailVerification: true,
  maxLoginAttempts: 5,
  lockDuration: 900_000,
  ...own,
})
