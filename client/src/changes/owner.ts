import type { ClientSession, SessionStorage } from '../session.ts'
import type { Raw } from './connection.ts'

/** The client to which changes belong. */
export type Owner = {
  readonly raw: Raw
  readonly session: ClientSession
  readonly baseUrl: string
  readonly options: { readonly storage?: SessionStorage | undefined; readonly token?: string | undefined }
}
