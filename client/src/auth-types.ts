import type { SessionTokens, SignedInUser } from './session.ts'

/** A passkey of the user, without its key. */
export type ClientPasskey = {
  _id: string
  name: string
  /** ISO 8601, UTC. */
  createdAt: string
  lastUsedAt?: string
  /** Whether it is on all devices of an account, such as those of Apple or Google. */
  synced: boolean
}

/** What proves a second factor: one of these. */
export type SecondFactorProof =
  | { code: string }
  | { recoveryCode: string }
  /** Asks the browser for a passkey of the account. */
  | { passkey: true }

/** Ten codes, each for one sign-in without another second factor. They are shown once: the server has hashes only. */
export type RecoveryCodeList = { recoveryCodes?: string[] }

/** Where a sign-in code is sent to. */
export type CodeAddress = { email: string } | { phone: string }

/** The passkeys of the user, and signing in with one. */
export type ClientPasskeys = {
  /** Whether this browser has passkeys: otherwise hide what needs them. */
  isSupported(): boolean
  /**
   * Creates a passkey on this device, or on another that the browser offers: `POST /auth/passkeys`.
   *
   * @param options.name by which the user knows it; the server names it by its browser otherwise
   * @returns `recoveryCodes` too if it is the first second factor of the account
   * @throws CallError RECENT_SIGN_IN_REQUIRED: call `confirm` and repeat; what the browser throws, such as NotAllowedError if
   * the user cancels, and InvalidStateError if this device has a passkey of the account
   */
  create(options?: { name?: string | undefined }): Promise<{ passkey: ClientPasskey } & RecoveryCodeList>
  /**
   * Signs in with a passkey: `POST /auth/passkeys/sign-in`. An older call that waits for one is aborted.
   *
   * @param options.conditional waits until the user takes a passkey from the suggestions of an input with
   * `autocomplete="username webauthn"`
   * @throws what the browser throws: AbortError after a newer call, NotSupportedError if it has no such suggestions
   * @example six.auth.passkeys.signIn({ conditional: true }).then(show, () => undefined)
   */
  signIn(options?: {
    conditional?: boolean | undefined
    signal?: AbortSignal | undefined
  }): Promise<SignedInUser>
  list(): Promise<ClientPasskey[]>
  rename(id: string, name: string): Promise<ClientPasskey>
  remove(id: string): Promise<void>
}

/** The authenticator app of the user, which shows codes of six digits. */
export type ClientTotp = {
  /** What an app needs, as text and as a QR code. Nothing changes until a code is verified, within ten minutes. */
  offer(): Promise<{ secret: string; uri: string; qr: { text: string; svg: string } }>
  /**
   * Adds the app that has the offer, by a code that it shows.
   *
   * @returns `recoveryCodes` if it is the first second factor of the account
   */
  verify(code: string): Promise<RecoveryCodeList>
  remove(): Promise<void>
}

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
  /**
   * Signs in with a password: `POST /auth/login`.
   *
   * @throws CallError SECOND_FACTOR_REQUIRED: go on with `secondFactor`. So does each other way to sign in
   */
  signIn(account: { email: string; password: string }): Promise<SignedInUser>
  /** Sends a link and a code to sign in: `POST /auth/magic-link`. */
  sendMagicLink(email: string): Promise<void>
  /**
   * Signs in with the token of the link: `POST /auth/verify-magic-link`.
   *
   * @param options.confirmed after the user has confirmed that the link is their own
   * @throws CallError OTHER_BROWSER if this browser has not asked for the link: ask the user, then repeat with `confirmed`
   */
  verifyMagicLink(token: string, options?: { confirmed?: boolean | undefined }): Promise<SignedInUser>
  /** Sends a code of six digits to sign in: by email `sendMagicLink` does the same, by SMS it is `POST /auth/sms-code`. */
  sendCode(address: CodeAddress): Promise<void>
  /** Signs in with the code that was sent: `POST /auth/verify-code`. */
  verifyCode(input: CodeAddress & { code: string }): Promise<SignedInUser>
  /**
   * Signs in with what an identity provider's callback has in its fragment: the tokens, or a challenge.
   *
   * @throws CallError SECOND_FACTOR_REQUIRED if it is a challenge, and this device is not trusted
   */
  setSession(
    fragment: SessionTokens | { challenge: string; factors?: string | undefined },
  ): Promise<SignedInUser>
  /**
   * Finishes the sign-in, or the refresh, that failed last with SECOND_FACTOR_REQUIRED: `POST /auth/second-factor`.
   *
   * @param options.trustDevice whether this device needs no second factor for 30 days. The client keeps its token in the
   * storage, and later sign-ins use it by themselves
   * @param options.challenge of the error, if another client has got it
   * @throws CallError INVALID_CODE, INVALID_PASSKEY: try again; INVALID_CHALLENGE: sign in from the start
   */
  secondFactor(
    proof: SecondFactorProof,
    options?: { trustDevice?: boolean | undefined; challenge?: string | undefined },
  ): Promise<SignedInUser>
  /** Proves once more who is signed in, after RECENT_SIGN_IN_REQUIRED: counts for ten minutes. `POST /auth/confirm`. */
  confirm(proof: SecondFactorProof | { password: string }): Promise<void>
  /** The second factors of the user, and whether one is required: `GET /auth/factors`. */
  factors(): Promise<{
    passkeys: number
    totp: boolean
    /** How many are left. */
    recoveryCodes: number
    required: boolean
    /** ISO 8601, UTC: from when nothing else is possible than to add a factor. */
    dueAt?: string
  }>
  readonly passkeys: ClientPasskeys
  readonly totp: ClientTotp
  /** A token that is valid for a while, for something that sends it itself. */
  token(): Promise<string | undefined>
  /**
   * Forgets the session, and ends it on the server: `POST /auth/logout`.
   *
   * @throws what the call throws if the server could not be told; the session is forgotten here all the same
   */
  signOut(): Promise<void>
}
