import { isError } from './call-error.ts'
import type { AnyInput } from './route-types.ts'
import type { ClientSession, SessionTokens, SignedInUser } from './session.ts'

/** Sign-in and the session of the client; each function resolves when the session is stored. */
export type Auth = {
  /** The user who is signed in. With a storage that answers later it is known when `onChange` first calls. */
  readonly user: SignedInUser | undefined
  /**
   * Calls the listener with the user once the session is read, and whenever a user signs in or out, in another tab too.
   *
   * @returns a function that ends it
   * @example
   * const stop = six.auth.onChange((user) => show(user?.email ?? 'signed out'))
   */
  onChange(listener: (user: SignedInUser | undefined) => void): () => void
  /** Creates an account and signs in: `POST /auth/register`. */
  signUp(account: { email: string; password: string; name?: string | undefined }): Promise<SignedInUser>
  /** Signs in with a password: `POST /auth/login`. */
  signIn(account: { email: string; password: string }): Promise<SignedInUser>
  /** Sends a link to sign in: `POST /auth/magic-link`. */
  sendMagicLink(email: string): Promise<void>
  /** Signs in with the token of the link: `POST /auth/verify-magic-link`. */
  verifyMagicLink(token: string): Promise<SignedInUser>
  /** Signs in with the tokens of another sign-in, such as those that an identity provider's callback has in its fragment. */
  setSession(tokens: SessionTokens): Promise<SignedInUser>
  /** A token that is valid for a while, for something that sends it itself. */
  token(): Promise<string | undefined>
  /**
   * Forgets the session, and ends it on the server: `POST /auth/logout`.
   *
   * @throws what the call throws if the server could not be told; the session is forgotten here all the same
   */
  signOut(): Promise<void>
}

type Call = (key: string, input: AnyInput) => Promise<unknown>

export function createAuth(call: Call, session: ClientSession): Auth {
  async function begin(key: string, body: object): Promise<SignedInUser> {
    const { user, ...tokens } = (await call(key, { token: null, body })) as SessionTokens & {
      user: SignedInUser
    }
    await session.begin(tokens, user)
    return user
  }
  return {
    get user() {
      return session.current?.user
    },
    onChange: (listener) => session.onChange(listener),
    signUp: (body) => begin('POST /auth/register', body),
    signIn: (body) => begin('POST /auth/login', body),
    async sendMagicLink(email) {
      await call('POST /auth/magic-link', { token: null, body: { email } })
    },
    verifyMagicLink: (token) => begin('POST /auth/verify-magic-link', { token }),
    async setSession(tokens) {
      const { user } = (await call('GET /auth/me', { token: tokens.token })) as { user: SignedInUser }
      await session.begin(tokens, user)
      return user
    },
    token: async () => (await session.usable())?.token,
    async signOut() {
      await session.loaded
      const ended = session.current
      if (!ended) return
      await session.save(undefined)
      const logOut = ({ token }: SessionTokens) => call('POST /auth/logout', { token })
      try {
        await logOut(ended)
      } catch (error) {
        if (!isError(error, 'UNAUTHORIZED')) throw error
        // Only the token may have expired.
        const renewed = await session.refreshed(ended)
        if (renewed) await logOut(renewed)
      }
    },
  }
}
