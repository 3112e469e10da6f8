/** What any call takes. */
export type CallOptions = {
  headers?: Record<string, string> | undefined
  /** Replaces the token of the session; null sends none. */
  token?: string | null | undefined
  /** Aborts the call, also while it waits for its next attempt. */
  signal?: AbortSignal | undefined
  /**
   * Called while the body is sent, if there is an XMLHttpRequest and the client has no `fetch` of its own: `fetch` does not
   * tell.
   */
  onProgress?: ((progress: { loaded: number; total: number }) => void) | undefined
}

/** The input of any route, without its types. */
export type AnyInput = CallOptions & {
  params?: Record<string, string> | undefined
  query?: Record<string, unknown> | undefined
  body?: unknown
  idempotencyKey?: string | true | undefined
}

/** What an `Api` has beside routes: types of documents and names of fields of files, by the names of collections. */
type NotRoutes = 'collections' | 'fileFields'

/** The routes of an `Api`: `POST /auth/login`. */
export type KeyOf<Api> = Exclude<keyof Api & string, NotRoutes>

type Collections<Api> = Api extends { collections: infer Documents } ? Documents : unknown

/** The collections of an `Api` whose documents have a type. */
export type CollectionOf<Api> = keyof Collections<Api> & string

/** The documents of a collection of an `Api`. */
export type DocumentOf<Api, Name extends CollectionOf<Api>> = Collections<Api>[Name] & object

/** The fields of a collection of an `Api` that take files; any text if it does not tell them. */
export type FileFieldOf<Api, Name extends string> = Api extends {
  fileFields: Record<Name, infer Field extends string>
}
  ? Field
  : string

type PathParams<K> = K extends `${string}/:${infer Name}/${infer Rest}`
  ? Name | PathParams<`/${Rest}`>
  : K extends `${string}/:${infer Name}`
    ? Name
    : never

type ParamsInput<K> = [PathParams<K>] extends [never] ? unknown : { params: Record<PathParams<K>, string> }
type QueryInput<R> = R extends { query: infer Q }
  ? object extends Q
    ? { query?: Q | undefined }
    : { query: Q }
  : unknown
type BodyInput<R> = R extends { body: infer B } ? { body: B } : unknown
type KeyInput<R> = R extends { idempotent: true }
  ? {
      /**
       * With a key a repetition has no second effect, so the call is repeated after a lost connection. Sixwire's own routes get
       * one by themselves; `true` makes one for a route of another wire.
       */
      idempotencyKey?: string | true | undefined
    }
  : unknown

/** What a call of a route takes. */
export type CallInput<Api, K extends keyof Api> = CallOptions &
  ParamsInput<K> &
  QueryInput<Api[K]> &
  BodyInput<Api[K]> &
  KeyInput<Api[K]>

/** The arguments behind the key: the input may be left out if nothing of it is required. */
export type Arguments<Api, K extends keyof Api> =
  object extends CallInput<Api, K> ? [input?: CallInput<Api, K>] : [input: CallInput<Api, K>]

/** The body of the answer of a route. */
export type CallReply<Api, K extends keyof Api> = Api[K] extends { reply: infer R } ? R : unknown

type OwnCode<R> = R extends { errors: infer Code extends string } ? Code : never

/** The codes that a route may answer, those of every route included. */
export type CallCode<Api, K extends keyof Api = keyof Api> = OwnCode<Api[K]> | CommonCode

/** The codes that any route may answer; `UNKNOWN` if the answer is not the server's own. */
export type CommonCode =
  | 'EMAIL_NOT_VERIFIED'
  | 'FORBIDDEN'
  | 'IDEMPOTENCY_CONFLICT'
  | 'INTERNAL_ERROR'
  | 'METHOD_NOT_ALLOWED'
  | 'NOT_FOUND'
  | 'PAYLOAD_TOO_LARGE'
  | 'RATE_LIMITED'
  | 'STORAGE_DAMAGED'
  | 'STORAGE_FULL'
  | 'STORAGE_READ_ONLY'
  | 'TOO_MANY_CONCURRENT'
  | 'UNAUTHORIZED'
  | 'UNAVAILABLE'
  | 'UNKNOWN'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'VALIDATION_ERROR'
