import type { Api } from '../../../../client/src/index.ts'
import { six } from '../../parts/session.ts'

export type DeclaredScreen = Api['GET /core/screens']['reply']['screens'][number]
export type DeclaredAction = DeclaredScreen['actions'][number]
export type DeclaredField = DeclaredAction['fields'][number]
export type RecordFields = Readonly<Record<string, unknown>>

type AnyInput = {
  params?: Record<string, unknown>
  query?: Record<string, unknown>
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
}

type AnyClient = { call(route: string, input: AnyInput): Promise<Record<string, unknown>> }

/** Calls a route that only the server knows. */
export const callRoute = (route: string, input: AnyInput): Promise<Record<string, unknown>> =>
  (six as unknown as AnyClient).call(route, input)

/** What a record fills in of a route, by the parameters and fields of the route. */
export const filledFrom = (from: Readonly<Record<string, string>>, record: RecordFields): RecordFields =>
  Object.fromEntries(Object.entries(from).map(([name, field]) => [name, record[field]]))

/** The names of the parameters in the path of a route. */
export const pathNames = (route: string): string[] =>
  Array.from(route.matchAll(/:(\w+)/g), ([, name]) => name!)
