import type { Api as OwnApi } from './generated/api.ts'
import { orAbort } from './abort.ts'
import { createAuth } from './auth.ts'
import type { Auth } from './auth-types.ts'
import { CallError, isError, readError } from './call-error.ts'
import type { Batch, BatchResults, BatchWrite } from './batch.ts'
import { createCollection, etags, type Collection } from './collection.ts'
import type { ClientChanges } from './changes/index.ts'
import { isRepeatable, readBody, requestOf, urlOf } from './request.ts'
import { headersOf, isSafe, sendRepeatedly } from './retry.ts'
import type {
  AnyInput,
  Arguments,
  CallCode,
  CallOptions,
  CallReply,
  CollectionOf,
  DocumentOf,
  FileFieldOf,
  KeyOf,
} from './route-types.ts'
import { ClientSession, type KeptSession, type SessionStorage, type SessionTokens } from './session.ts'
import type { ClientSignIn } from './sign-in/index.ts'

/** What a call came to: its reply, or the error that the server answered. */
export type TryResult<Data, Code extends string> =
  | { data: Data; error: undefined }
  | { data: undefined; error: CallError<Code> }

type FileRecord<Api> = Api extends Record<'POST /store/upload', { reply: infer Stored }> ? Stored : unknown
type UploadOptions = CallOptions & {
  metadata?: Record<string, unknown> | undefined
  access?: 'private' | 'public' | undefined
  idempotencyKey?: string | undefined
}

/** A typed client; see `createClient`. */
export type Client<Api = OwnApi> = {
  /**
   * Calls a route by its method and path, and returns the body of the answer.
   *
   * @param input `params` of the path, `query`, `body`, `headers`, a `token` for this call, and a `signal` that aborts it
   * @throws CallError if the server answers with an error
   * @throws TypeError if a value of `params` cannot be part of a path; otherwise what `fetch` throws
   * @example
   * const { user } = await six.call('GET /auth/me')
   */
  call<K extends KeyOf<Api>>(key: K, ...input: Arguments<Api, K>): Promise<CallReply<Api, K>>
  /**
   * Like `call`, but returns the error that the server answers: its code is one of this route.
   *
   * @throws what `fetch` throws
   * @example
   * const { data, error } = await six.try('POST /auth/register', { body })
   * if (error?.code === 'EMAIL_TAKEN') …
   */
  try<K extends KeyOf<Api>>(
    key: K,
    ...input: Arguments<Api, K>
  ): Promise<TryResult<CallReply<Api, K>, CallCode<Api, K>>>
  /**
   * Like `call`, but returns the `Response`, whose body is not read. Errors are thrown as by `call`; a 304 is none.
   *
   * @example
   * const { headers, body } = await six.raw('GET /store/files/:id/content', { params: { id } })
   */
  raw<K extends KeyOf<Api>>(key: K, ...input: Arguments<Api, K>): Promise<Response>
  /**
   * Whether a value is an error that the server answered, with this code; `key` limits the codes to those of a route.
   *
   * @example
   * if (six.isError(error, 'POST /auth/register', 'EMAIL_TAKEN')) …
   */
  isError<Code extends CallCode<Api>>(error: unknown, code: Code): error is CallError<Code>
  isError<K extends KeyOf<Api>, Code extends CallCode<Api, K>>(
    error: unknown,
    key: K,
    code: Code,
  ): error is CallError<Code>
  /**
   * The documents of a collection of the store, whose type the `Api` knows.
   *
   * @example
   * const projects = six.collection('projects')
   */
  collection<Name extends CollectionOf<Api>>(
    name: Name,
  ): Collection<DocumentOf<Api, Name>, FileFieldOf<Api, Name>>
  /**
   * The documents of a collection of the store.
   *
   * @example
   * const books = six.collection<{ title: string; year: number }>('books')
   * const { data } = await books.list({ filter: { year: { $lt: 1980 } }, sort: '-year' })
   */
  collection<T extends object>(name: string): Collection<T>
  /**
   * Creates, changes and deletes up to 100 documents of any collections in one transaction: all of them, or none. The results are
   * in the same order; a refusal is the error of the operation, whose index is `details.operation`.
   *
   * @example
   * const [order] = await six.batch((b) => [
   *   b.collection('orders').create({ item: 'lamp' }),
   *   b.collection('stock').patch(lampId, { $inc: { left: -1 } }),
   * ])
   */
  batch<const P extends readonly BatchWrite<unknown>[]>(
    plan: (batch: Batch<Api>) => P,
    options?: CallOptions & { idempotencyKey?: string | undefined },
  ): Promise<BatchResults<P>>
  /**
   * Stores a file. One of more than 8 MiB is sent by several requests, unless there is an `idempotencyKey`: the upload continues
   * after a lost connection, and in browsers after a reload when the same file is given again. With `direct` its bytes go to the
   * bucket of the server, if it has one.
   *
   * @example
   * await six.upload(input.files[0], { onProgress: ({ loaded, total }) => show(loaded / total) })
   */
  upload(
    file: Blob,
    options?: UploadOptions & { name?: string | undefined; direct?: boolean | undefined },
  ): Promise<FileRecord<Api>>
  /** Stores up to 100 files by one call, all or none, and returns their records in the same order. */
  upload(files: Iterable<Blob>, options?: UploadOptions): Promise<FileRecord<Api>[]>
  readonly auth: Auth
}

export type ClientOptions = {
  /** Where the session is kept, such as `localStorage`. Default: in memory. */
  storage?: SessionStorage | undefined
  /** The token of calls while nobody is signed in, such as a service key. */
  token?: string | undefined
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch | undefined
  /** How many times a call that may be repeated is sent again after a lost connection, 502, 503 or 504. Default 2. */
  retries?: number | undefined
}

const REFRESH = 'POST /auth/refresh'
const REFRESH_LIMIT_MS = 10_000

/** Calls of one client, without their types. */
class Caller {
  declare readonly session: ClientSession
  declare readonly baseUrl: string
  declare readonly options: ClientOptions
  #signIn: Promise<ClientSignIn> | undefined
  #changes: Promise<ClientChanges> | undefined

  constructor(baseUrl: string, options: ClientOptions) {
    this.baseUrl = baseUrl
    this.options = options
    this.session = new ClientSession(`sixwire ${baseUrl}`, options.storage, (refreshToken) =>
      this.#refresh(refreshToken),
    )
  }

  call = async (key: string, input: AnyInput = {}): Promise<unknown> => {
    const response = await this.raw(key, input)
    if (!response.ok) throw await readError(key, response)
    return readBody(response)
  }

  raw = async (key: string, input: AnyInput = {}): Promise<Response> => {
    const headers = headersOf(key, input)
    const { token, signal } = input
    const session = token === undefined ? await orAbort(this.#sessionFor(key), signal) : undefined
    const sent = token === undefined ? (session?.token ?? this.options.token) : (token ?? undefined)
    try {
      return await this.#send(key, input, headers, sent)
    } catch (error) {
      if (!session || !isError(error, 'UNAUTHORIZED')) throw error
      const next = await orAbort(this.session.renew(session), signal)
      // Another user may have signed in, for whom the call is not meant.
      if (next?.user._id !== session.user._id || !isRepeatable(input)) throw error
      return this.#send(key, input, headers, next.token)
    }
  }

  /** The session of the user who is signed in when a call begins. Throws UNAUTHORIZED if it has to be refreshed and has ended. */
  async #sessionFor(key: string): Promise<KeptSession | undefined> {
    const { session } = this
    if (!session.current) await session.loaded
    const meant = session.current
    const usable = await session.usable()
    // Else the call is sent for nobody, or for another user who has signed in.
    if (meant && meant.user._id !== usable?.user._id)
      throw new CallError(key, new Response(null, { status: 401 }), {
        code: 'UNAUTHORIZED',
        message: 'The session has ended: sign in again.',
      })
    return usable
  }

  async #send(key: string, input: AnyInput, headers: Headers, token: string | undefined): Promise<Response> {
    const { fetch: own, retries = 2 } = this.options
    const { onProgress } = input
    const url = urlOf(this.baseUrl, key, input)
    const request = requestOf(key, input, headers, token)
    const send = async () =>
      onProgress && !own
        ? (await this.loadUpload()).sendWithProgress(url, request, onProgress)
        : (own ?? fetch)(url, request)
    const mayRepeat = isRepeatable(input) && (isSafe(key, headers) || key === REFRESH)
    const response = await sendRepeatedly(send, mayRepeat ? retries : 0, input.signal)
    if (response.status >= 400) throw await readError(key, response)
    return response
  }

  /** An attempt whose answer was lost can be repeated: for a few seconds a used token is answered with its successor. */
  async #refresh(refreshToken: string): Promise<SessionTokens> {
    const signal = AbortSignal.timeout?.(REFRESH_LIMIT_MS)
    return (await this.call(REFRESH, { token: null, body: { refreshToken }, signal })) as SessionTokens
  }

  // What is loaded at its first use.
  loadSignIn = (): Promise<ClientSignIn> =>
    (this.#signIn ??= import('./sign-in/index.ts').then(({ signInOf }) => signInOf(this, CallError)))
  loadChanges = (): Promise<ClientChanges> =>
    (this.#changes ??= import('./changes/index.ts').then(({ changesOf }) =>
      changesOf(this, CallError, etags),
    ))
  loadUpload = () => import('./upload.ts')
}

/**
 * Creates a client whose calls are typed by the routes of the server. It needs `fetch` only, so it works in browsers, Node,
 * bun and React Native.
 *
 * @param baseUrl the URL of the server, with the path prefix of a proxy if there is one
 * @example
 * const six = createClient('http://localhost:3000', { storage: localStorage })
 * await six.auth.signIn({ email, password })
 */
export function createClient<Api = OwnApi>(baseUrl: string, options: ClientOptions = {}): Client<Api> {
  const caller = new Caller(baseUrl, options)
  const { call, raw, loadChanges, loadUpload } = caller
  const client: Client<Record<string, object>> = {
    call,
    raw,
    async try(key, input?: AnyInput) {
      try {
        return { data: await call(key, input), error: undefined }
      } catch (error) {
        if (!isError<never>(error)) throw error
        return { data: undefined, error }
      }
    },
    isError: (error: unknown, keyOrCode: string, code?: string): error is CallError<never> =>
      code === undefined ? isError(error, keyOrCode) : isError(error, code) && error.route === keyOrCode,
    collection: (name: string) => createCollection(raw, loadChanges, loadUpload, name),
    batch: (async (plan, options) =>
      (await import('./batch.ts')).sendBatch(raw, plan, options)) as Client['batch'],
    upload: (async (files, options) =>
      (await loadUpload()).upload(caller, files, options)) as Client['upload'],
    auth: createAuth(caller),
  }
  return client as unknown as Client<Api>
}
