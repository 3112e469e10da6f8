import type { CallError } from '../call-error.ts'
import type { ClientSession, SessionStorage } from '../session.ts'
import type { Raw } from './connection.ts'

/** What the module for changes has of its client, which loads it late and so is not imported by it. */
export type Owner = {
  readonly raw: Raw
  readonly session: ClientSession
  readonly baseUrl: string
  readonly options: { readonly storage?: SessionStorage | undefined; readonly token?: string | undefined }
  /** Where the ETags of documents are kept. */
  readonly etags: WeakMap<object, string>
  readonly CallError: typeof CallError
}
