/** Whom an identity provider vouches for. */
export type ProvenIdentity = {
  /** Who says it; with `subject` it is the identity. The address is not: it can pass to somebody else. */
  issuer: string
  subject: string
  email?: string | undefined
  /** Whether the provider asserts that the address is this person's. */
  emailVerified: boolean
  name?: string | undefined
}

/** What one sign-in is recognised by, each value random and used once. */
export type Attempt = {
  /** Our own callback, as the provider sends the browser there. */
  redirectUri: string
  state: string
  nonce: string
  /** RFC 7636, method S256: the verifier stays here until the code is traded in, its hash goes with the browser. */
  codeVerifier: string
  codeChallenge: string
}

/** An identity provider with a consent screen. */
export type Provider = {
  /** The last step of its address: `idpa`, `idpb`. */
  readonly name: string
  /** What people know it by. */
  readonly label: string
  /** Where the browser is sent to consent. Rejects where the provider can't be reached. */
  start(attempt: Attempt): Promise<URL>
  /**
   * Trades the code that the browser came back with for the person it stands for.
   *
   * @param returned the parameters of the callback; their `state` was compared with the attempt's already
   * @returns an identity with an issuer and a subject
   * @throws anything: whatever goes wrong, nobody is proven. No message holds a secret
   */
  finish(returned: URLSearchParams, attempt: Attempt): Promise<ProvenIdentity>
}

/** A provider answered what can't be used. */
export class ProviderFault extends Error {
  override readonly name = 'ProviderFault'
}
