import type { Auth } from './auth-types.ts'
import type { ClientSignIn } from './sign-in/index.ts'
import type { AuthOwner } from './sign-in/owner.ts'

type Work = (...input: unknown[]) => Promise<unknown>

export function createAuth({
  call,
  session,
  loadSignIn,
}: AuthOwner & { readonly loadSignIn: () => Promise<ClientSignIn> }): Auth {
  /** Functions of what is loaded when one of them is first called. */
  const late = (names: string, part: 'auth' | 'passkeys' | 'totp') =>
    Object.fromEntries(
      names
        .split(' ')
        .map((name) => [
          name,
          async (...input: unknown[]) =>
            ((await loadSignIn())[part] as unknown as Record<string, Work>)[name]!(...input),
        ]),
    )
  return {
    get user() {
      return session.current?.user
    },
    onChange: (listener) => session.onChange(listener),
    ...late(
      'signUp signIn sendMagicLink verifyMagicLink sendCode verifyCode setSession secondFactor confirm factors',
      'auth',
    ),
    passkeys: {
      isSupported: () => 'PublicKeyCredential' in globalThis,
      ...late('create signIn list rename remove', 'passkeys'),
    },
    totp: late('offer verify remove', 'totp'),
    token: async () => (await session.usable())?.token,
    async signOut() {
      await session.loaded
      const ended = session.current
      if (!ended) return
      await session.save(undefined)
      await call('POST /auth/logout', { token: ended.token }).catch(async (error: unknown) =>
        (await loadSignIn()).signOut(ended, error),
      )
    },
  } as Auth
}
