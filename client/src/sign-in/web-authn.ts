import { fromBase64url, toBase64url } from './base64url.ts'

// What is used of Web Authentication Level 3 (https://www.w3.org/TR/webauthn-3/), whose types are those of browsers.
type Descriptor = { id: string }
type Response = Record<string, unknown> & { getTransports?(): string[] }

/** Options as the server answers them. */
export type WebAuthnOptions = {
  challenge: string
  user?: Descriptor
  allowCredentials?: Descriptor[]
  excludeCredentials?: Descriptor[]
}

export type WebAuthnCredential = {
  id: string
  rawId: ArrayBuffer
  type: string
  authenticatorAttachment?: string | null
  response: Response
  getClientExtensionResults(): object
  toJSON?(): object
}

type Parse = ((options: WebAuthnOptions) => object) | undefined

export type WebAuthn = {
  PublicKeyCredential?: {
    parseCreationOptionsFromJSON?: Parse
    parseRequestOptionsFromJSON?: Parse
    isConditionalMediationAvailable?(): Promise<boolean>
  }
  navigator: {
    credentials: Record<'create' | 'get', (options: object) => Promise<WebAuthnCredential | null>>
  }
}

const withBytes = <T extends Descriptor>(one: T) => ({ ...one, id: fromBase64url(one.id) })

/** Options for `navigator.credentials`. Browsers of before 2025 cannot parse them. */
export function parseOptions(
  { PublicKeyCredential: own }: WebAuthn,
  method: 'create' | 'get',
  options: WebAuthnOptions,
): object {
  if (method === 'create' && own?.parseCreationOptionsFromJSON)
    return own.parseCreationOptionsFromJSON(options)
  if (method === 'get' && own?.parseRequestOptionsFromJSON) return own.parseRequestOptionsFromJSON(options)
  const { user, allowCredentials, excludeCredentials } = options
  return {
    ...options,
    challenge: fromBase64url(options.challenge),
    ...(user && { user: withBytes(user) }),
    ...(allowCredentials && { allowCredentials: allowCredentials.map(withBytes) }),
    ...(excludeCredentials && { excludeCredentials: excludeCredentials.map(withBytes) }),
  }
}

const FIELDS = ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle']

/** The JSON of a credential. Browsers of before 2025, and some extensions that have passkeys, cannot make it. */
export function credentialJson(credential: WebAuthnCredential): object {
  if (credential.toJSON) return credential.toJSON()
  const { id, rawId, type, authenticatorAttachment, response } = credential
  const fields = FIELDS.filter((name) => response[name]).map((name): [string, string] => [
    name,
    toBase64url(response[name] as ArrayBuffer),
  ])
  return {
    id,
    rawId: toBase64url(rawId),
    type,
    ...(authenticatorAttachment && { authenticatorAttachment }),
    response: {
      ...Object.fromEntries(fields),
      ...(response.getTransports && { transports: response.getTransports() }),
    },
    clientExtensionResults: credential.getClientExtensionResults(),
  }
}
