import type { AnyInput } from '../route-types.ts'
import type { ClientSession, SessionStorage, SignedInUser } from '../session.ts'

/** The client whose sign-in it is. */
export type AuthOwner = {
  readonly session: ClientSession
  readonly baseUrl: string
  readonly options: { readonly storage?: SessionStorage | undefined }
  readonly call: (key: string, input: AnyInput) => Promise<unknown>
}

/** Signs in with credentials, and stores the session. */
export type Begin = (key: string, body: object) => Promise<SignedInUser>
