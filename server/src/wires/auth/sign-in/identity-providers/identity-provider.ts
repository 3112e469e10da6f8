/** The person that an identity provider has authenticated. */
export type ProvenIdentity = {
  /** With `subject` it identifies the person. The address does not: it can pass to somebody else. */
  issuer: string
  subject: string
  email?: string | undefined
  /** Whether the provider asserts that the address is this person's. */
  emailVerified: boolean
  name?: string | undefined
}

/** The parameters of one sign-in, each value random and used once. */
export type LoginAttempt = {
  /** The callback of this server. */
  redirectUri: string
  state: string
  nonce: string
  /** RFC 7636, method S256: the provider gets the challenge first, and the verifier with the code. */
  codeVerifier: string
  codeChallenge: string
}

/** An identity provider with a consent screen. */
export type IdentityProvider = {
  /** `idpa`, `idpb`, or its name in `auth.providers`. */
  readonly name: string
  /** Its name for people, in emails and on pages to sign in. */
  readonly label: string
  /**
   * The issuer of its identities, as a sign-in tells it.
   *
   * @throws if each of its tenants has another one, or it cannot be reached
   */
  issuer(): Promise<string>
  /** Rejects if it cannot be reached, or is not what its address says. Where nothing can be asked without a person there is none. */
  check?(): Promise<void>
  /** The consent page for this attempt. Rejects if the provider cannot be reached. */
  start(attempt: LoginAttempt): Promise<URL>
  /**
   * Exchanges the code of the callback for the person's identity.
   *
   * @param returned the parameters of the callback, whose `state` is that of the attempt
   * @returns an identity with an issuer and a subject
   * @throws an `ApiError` for the frontend, or any other error if the person could not be authenticated; its message must
   *   not hold a secret
   */
  finish(returned: URLSearchParams, attempt: LoginAttempt): Promise<ProvenIdentity>
}

/** A provider's answer cannot be used. */
export class IdentityProviderFault extends Error {
  override readonly name = 'IdentityProviderFault'
}

/** The providers whose names and paths are older than `auth.providers`. */
export const BUILT_IN_NAMES: readonly string[] = ['idpa', 'idpb']

/** The way in, below `/auth/`: `idpa`, `providers/company`. So no name of the configuration is that of another way in. */
export const methodOf = ({ name }: Pick<IdentityProvider, 'name'>): string =>
  BUILT_IN_NAMES.includes(name) ? name : `providers/${name}`
