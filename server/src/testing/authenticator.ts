// An authenticator in software with the browser before it, which lets a test be wrong in every part of what is signed.
// https://www.w3.org/TR/webauthn-3/
import { generateKeyPairSync, hash, randomBytes, sign, type KeyObject } from 'node:crypto'

/** How a ceremony goes; what is left out goes as it should. */
export type Ceremony = {
  /** Of the page. Default: http://localhost:5173 */
  origin?: string
  /** For which it is signed. Default: that of the options. */
  rpId?: string
  /** Default 0, as synchronised passkeys have it. */
  counter?: number
  /** The flags UP and UV. Default true. */
  isPresent?: boolean
  isVerified?: boolean
  /** The flags BE and BS. Default false. */
  isSynced?: boolean
  /** Base64url; null: none. Default: that of the registration. */
  userHandle?: string | null
  /** Further members of the client data, or others in place of its own. */
  clientData?: Record<string, unknown>
}

/** Options as a server answers them, of either ceremony. */
type Options = { challenge: string; rpId?: string; rp?: { id: string }; user?: { id: string } }

/** A passkey as a test has it. */
export type TestPasskey = {
  readonly id: string
  /** The answer of navigator.credentials.create. */
  register(options: Options, ceremony?: Ceremony): Credential
  /** The answer of navigator.credentials.get. */
  sign(options: Options, ceremony?: Ceremony): Credential
}

/** A credential as its `toJSON` writes it. */
export type Credential = {
  id: string
  rawId: string
  type: 'public-key'
  response: Record<string, unknown>
  authenticatorAttachment: string
  clientExtensionResults: object
}

export type Algorithm = 'ES256' | 'EdDSA' | 'RS256' | 'ES384'

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')

/** @param aaguid 32 hexadecimal digits */
export function createTestPasskey(algorithm: Algorithm = 'ES256', aaguid = '0'.repeat(32)): TestPasskey {
  const { key, cose, digest } = makeKey(algorithm)
  const rawId = randomBytes(16)
  const id = base64url(rawId)
  let handle: string | undefined

  const credential = (response: Record<string, unknown>): Credential => ({
    id,
    rawId: id,
    type: 'public-key',
    response,
    authenticatorAttachment: 'platform',
    clientExtensionResults: {},
  })

  return {
    id,

    register(options, ceremony = {}) {
      handle = options.user?.id
      const length = Buffer.alloc(2)
      length.writeUInt16BE(rawId.length)
      const attested = Buffer.concat([Buffer.from(aaguid, 'hex'), length, rawId, cbor(cose)])
      const authData = Buffer.concat([authenticatorData(options, ceremony, ATTESTED), attested])
      return credential({
        clientDataJSON: base64url(clientDataOf('webauthn.create', options, ceremony)),
        attestationObject: base64url(
          cbor(
            new Map<string, Cbor>([
              ['fmt', 'none'],
              ['attStmt', new Map()],
              ['authData', authData],
            ]),
          ),
        ),
        transports: ['internal', 'hybrid'],
      })
    },

    sign(options, ceremony = {}) {
      const client = clientDataOf('webauthn.get', options, ceremony)
      const data = authenticatorData(options, ceremony, 0)
      const signature = sign(digest, Buffer.concat([data, hash('sha256', client, 'buffer')]), key)
      const userHandle = ceremony.userHandle === undefined ? handle : ceremony.userHandle
      return credential({
        clientDataJSON: base64url(client),
        authenticatorData: base64url(data),
        signature: base64url(signature),
        ...(userHandle !== null && { userHandle }),
      })
    },
  }
}

function clientDataOf(type: string, { challenge }: Options, { origin, clientData }: Ceremony): Buffer {
  const page = origin ?? 'http://localhost:5173'
  return Buffer.from(JSON.stringify({ type, challenge, origin: page, crossOrigin: false, ...clientData }))
}

const [PRESENT, VERIFIED, ELIGIBLE, BACKED_UP, ATTESTED] = [1, 4, 8, 16, 64]

// https://www.w3.org/TR/webauthn-3/#authenticator-data
function authenticatorData(options: Options, ceremony: Ceremony, flags: number): Buffer {
  const { counter = 0, isPresent = true, isVerified = true, isSynced = false } = ceremony
  const rpId = ceremony.rpId ?? options.rpId ?? options.rp!.id
  const rest = Buffer.alloc(5)
  rest.writeUInt8(
    flags | (isPresent ? PRESENT : 0) | (isVerified ? VERIFIED : 0) | (isSynced ? ELIGIBLE | BACKED_UP : 0),
  )
  rest.writeUInt32BE(counter, 1)
  return Buffer.concat([hash('sha256', rpId, 'buffer'), rest])
}

type Key = { key: KeyObject; cose: Map<number, Cbor>; digest: string | null }

// The public keys are COSE: https://www.rfc-editor.org/rfc/rfc9053.html#section-7
function makeKey(algorithm: Algorithm): Key {
  const part = (value: string | undefined): Buffer => Buffer.from(value!, 'base64url')
  if (algorithm === 'EdDSA') {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const { x } = publicKey.export({ format: 'jwk' })
    return { key: privateKey, cose: mapOf([1, 1], [3, -8], [-1, 6], [-2, part(x)]), digest: null }
  }
  if (algorithm === 'RS256') {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const { n, e } = publicKey.export({ format: 'jwk' })
    const cose = mapOf([1, 3], [3, -257], [-1, part(n)], [-2, part(e)])
    return { key: privateKey, cose, digest: 'sha256' }
  }
  const [namedCurve, alg, curve, digest] =
    algorithm === 'ES256' ? (['P-256', -7, 1, 'sha256'] as const) : (['P-384', -35, 2, 'sha384'] as const)
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
  const { x, y } = publicKey.export({ format: 'jwk' })
  const cose = mapOf([1, 2], [3, alg], [-1, curve], [-2, part(x)], [-3, part(y)])
  return { key: privateKey, cose, digest }
}

const mapOf = (...entries: [number, Cbor][]): Map<number, Cbor> => new Map(entries)

type Cbor = number | string | Buffer | Map<number | string, Cbor>

/** Integers, text, bytes and maps as CBOR: https://www.rfc-editor.org/rfc/rfc8949.html#section-3 */
function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value)
  if (typeof value === 'string')
    return Buffer.concat([cborHead(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([cborHead(2, value.length), value])
  return Buffer.concat([cborHead(5, value.size), ...[...value].flat().map((one) => cbor(one))])
}

function cborHead(major: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(major << 5) | value])
  if (value < 256) return Buffer.from([(major << 5) | 24, value])
  return Buffer.from([(major << 5) | 25, value >> 8, value & 255])
}
