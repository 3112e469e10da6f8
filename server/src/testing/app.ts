import type { IncomingHttpHeaders } from 'node:http'

import { createApp, type App, type Config } from '../app.ts'
import { Agent } from '../base/node-http.ts'
import { createClient, type Client } from '../../../client/src/index.ts'
import { countStart } from './counts.ts'
import { testClock, type TestClock } from './clock.ts'
import { temporaryFolder, type Ending, type Engine } from './engines.ts'
import { exchange } from './exchange.ts'
import { freePort } from './free-port.ts'
import { TEST_SECRET } from './templates.ts'

export { testClock, type TestClock }

export type TestAnswer = {
  status: number
  headers: AnswerHeaders
  text: string
  /** The parsed body; undefined where it is not JSON. */
  body: any
}

export type RequestOptions = {
  /** Sent as JSON. */
  body?: unknown
  /** Sent as it is, as `application/json` unless the headers say otherwise. */
  raw?: string | Uint8Array<ArrayBuffer>
  token?: string | undefined
  headers?: Record<string, string>
}

export type TestApp = {
  url: string
  app: App
  clock: TestClock
  /** Any request at all, as a stranger would send it. */
  request(method: string, path: string, options?: RequestOptions): Promise<TestAnswer>
  /** The typed client, without a token. */
  client: Client
  /** A new account, signed in. */
  register(
    email?: string,
  ): Promise<{ _id: string; email: string; password: string; token: string; refreshToken: string }>
  /** Everything logged so far, at every level. */
  log(): string
  stop(): Promise<void>
}

export type StartOptions = {
  config?: Config
  environment?: Record<string, string>
  clock?: TestClock
  /** Whether local stand-ins take the place of providers that are not configured. Default false. */
  sandbox?: boolean
  /** A database that is there already, for a second replica or a second start. */
  databaseUrl?: string
}

let people = 0

/** Reads headers of an answer as `Headers` does, which takes a process longer to load than a test takes. */
export class AnswerHeaders {
  readonly #headers: IncomingHttpHeaders

  constructor(headers: IncomingHttpHeaders) {
    this.#headers = headers
  }

  get(name: string): string | null {
    const value = this.#headers[name.toLowerCase()]
    return value === undefined ? null : Array.isArray(value) ? value.join(', ') : value
  }

  has(name: string): boolean {
    return this.get(name) !== null
  }

  *[Symbol.iterator](): IterableIterator<[string, string]> {
    for (const name of Object.keys(this.#headers)) yield [name, this.get(name)!]
  }
}

const pathOf = ({ pathname, search }: URL): string => pathname + search

/**
 * Starts a server on a free port, on a new database of the engine, and ends it with the test or suite.
 * Passwords are hashed at the lowest cost unless the configuration says otherwise.
 */
export async function startApp(
  ending: Ending,
  engine: Pick<Engine, 'migratedUrl'>,
  options: StartOptions = {},
): Promise<TestApp> {
  countStart('servers in the process of a test')
  const folder = await temporaryFolder(ending)
  const clock = options.clock ?? testClock()
  let log = ''
  const app = await createApp({
    config: { ...options.config, auth: { bcryptCost: 4, ...options.config?.auth } },
    environment: {
      // Stand-ins are reached by the server's own address, so it has to be known before.
      PORT: options.sandbox ? String(await freePort()) : '0',
      SIXWIRE_SANDBOX: options.sandbox ? 'on' : 'off',
      LOG_LEVEL: 'trace',
      DATA_DIR: folder,
      SIXWIRE_SECRET: TEST_SECRET,
      DATABASE_URL: options.databaseUrl ?? (await engine.migratedUrl()),
      ...options.environment,
    },
    folder,
    clock,
    logTo: { write: (line) => void (log += line) },
  })
  const stop = () => app.close()
  ending.after(stop)
  // Not `fetch`, which takes five times the processor time.
  const agent = new Agent({ keepAlive: true })
  const url = await app.listen()

  async function request(
    method: string,
    path: string,
    { body, raw, token, headers }: RequestOptions = {},
  ): Promise<TestAnswer> {
    const content = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const answered = await exchange(
      url,
      {
        method,
        // As a client writes it: without dots and blanks.
        path: pathOf(new URL(url + path)),
        headers: {
          'user-agent': 'node',
          ...(content !== undefined && { 'content-type': 'application/json' }),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...headers,
        },
        body: typeof content === 'string' ? Buffer.from(content) : content,
      },
      agent,
    )
    const { status, text } = answered
    const isJson = /[/+]json\b/.test(answered.headers['content-type'] ?? '')
    return {
      status,
      headers: new AnswerHeaders(answered.headers),
      text,
      body: isJson && text !== '' ? JSON.parse(text) : undefined,
    }
  }

  return {
    url,
    app,
    clock,
    request,
    client: createClient(url),
    async register(email = `person${++people}@example.com`) {
      const password = 'correct horse battery'
      const answered = await request('POST', '/auth/register', { body: { email, password } })
      if (answered.status !== 201) throw new Error(`register answered ${answered.status}: ${answered.text}`)
      const { user, token, refreshToken } = answered.body
      return { _id: user._id, email, password, token, refreshToken }
    },
    log: () => log,
    stop,
  }
}
