import type { Static, TArray, TObject, TSchema } from 'typebox'

import type { ErrorKind } from '../base/errors.ts'
import type { BodyFiles, FormBody, JsonBody, MultipartBody, RawBody, StreamBody } from './bodies.ts'
import type { BriefReplay, Route, RouteSpec } from './route.ts'

type NamesOf<P, Test> = { [N in keyof P]: P[N] extends Test ? N : never }[keyof P]
type MayBeLeftOut<P> = NamesOf<P, { '~optional': true } | { default: unknown }>

/** What may be sent for a schema: fields that are optional or have a default may be left out, or be undefined. */
type InputOf<S extends TSchema> =
  S extends TObject<infer P>
    ? ObjectInput<{ [N in keyof P]: P[N] extends TSchema ? InputOf<P[N]> : never }, MayBeLeftOut<P>>
    : S extends TArray<infer I>
      ? InputOf<I>[]
      : Static<S>
type ObjectInput<P, Optional extends keyof P> = { [N in Exclude<keyof P, Optional>]: P[N] } & {
  [N in Optional]?: P[N] | undefined
}

type BodyOf<B> =
  B extends JsonBody<infer S>
    ? InputOf<S> | (B extends { files: BodyFiles } ? FormData : never)
    : B extends FormBody
      ? URLSearchParams
      : B extends RawBody | StreamBody
        ? Blob | Uint8Array<ArrayBuffer>
        : B extends MultipartBody
          ? FormData
          : never

type Success = 200 | 201 | 202 | 203 | 204 | 206
type SuccessOf<Replies> = {
  [C in keyof Replies & Success]: Replies[C] extends TSchema ? Static<Replies[C]> : never
}[keyof Replies & Success]
// Not if any status may be answered.
type NoContent<Replies> = number extends keyof Replies ? never : 204 extends keyof Replies ? undefined : never

/** What the client knows of a route. */
type ShapeOf<S> = (S extends { query: infer Q extends TSchema } ? { query: InputOf<Q> } : unknown) &
  (S extends { body: infer B } ? { body: BodyOf<B> } : unknown) &
  (S extends { idempotent: true | BriefReplay } ? { idempotent: true } : unknown) & {
    reply: S extends RouteSpec ? SuccessOf<S['reply']> | NoContent<S['reply']> : never
    errors: S extends { errors: readonly ErrorKind<infer Code>[] } ? Code : never
  }

/** Routes in the plain form that the client takes, by their keys; `apiTypes` writes the same as text. */
export type ApiShape<R extends Route> = { [One in R as One['key']]: ShapeOf<One['spec']> }
