import { createPublicKey } from 'node:crypto'

import type { KMSClient, KMSClientConfig } from '@aws-sdk/client-kms'
import { secp256k1 } from '@noble/curves/secp256k1'
import { bytesToHex, numberToHex, publicKeyToAddress } from 'viem/utils'

import type { Address, Hex } from '../../../base/hex.ts'
import { systemClock } from '../../../base/clock.ts'
import { oneLine } from '../../../base/one-line.ts'
import { StartError } from '../../../base/start-error.ts'
import { awsRequestHandler, Unanswered } from '../../../outbound/aws-request-handler.ts'
import { createOutbound } from '../../../outbound/outbound.ts'
import type { NotAccepted } from '../../../providers/outcome.ts'
import { PendingPromises } from '../../../base/pending-promises.ts'
import type { KeyStore, Signature } from './signer.ts'

const CHECK_MS = 10_000
const REASON_MAX = 300

type AwsCredentials = { accessKeyId: string; secretAccessKey: string; sessionToken?: string }

/** Options of the key store at AWS KMS. */
export type AwsKmsOptions = {
  /** `eu-central-1` */
  region: string
  /** Another address than that of the region, such as a VPC endpoint. */
  endpoint?: string
  /**
   * Default: the SDK's chain: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the shared files, web identity, the roles of
   * containers and instances.
   */
  credentials?: AwsCredentials | (() => Promise<AwsCredentials>)
  /** Tags of new keys, by name. */
  tags?: Readonly<Record<string, string>>
}

/** Errors after which the same call may succeed. https://docs.aws.amazon.com/kms/latest/APIReference/CommonErrors.html */
const PASSING: ReadonlySet<string> = new Set([
  'CredentialsProviderError',
  'DependencyTimeoutException',
  'ExpiredTokenException',
  'IncompleteSignature',
  'InvalidSignatureException',
  'KMSInternalException',
  'KeyUnavailableException',
  'LimitExceededException',
  'RequestExpired',
  'ServiceUnavailable',
  'ThrottlingException',
  'TokenRefreshRequired',
  'UnrecognizedClientException',
])

/**
 * A key store at AWS KMS: keys are created there (ECC_SECG_P256K1) and never leave it. Its credentials may use
 * `kms:CreateKey`, `kms:GetPublicKey`, `kms:Sign`, with tags `kms:TagResource`, and `kms:ListKeys` for `sixwire check`.
 *
 * @param clock for the time limits of calls
 * @throws StartError if the region or the endpoint cannot be one
 * @example
 * import { defineConfig } from 'sixwire'
 * import { awsKms } from 'sixwire/aws-kms'
 *
 * export default defineConfig({
 *   onchain: { keys: awsKms({ region: 'eu-central-1' }) },
 * })
 */
export function awsKms(options: AwsKmsOptions, clock = systemClock): KeyStore {
  const { region, endpoint, credentials, tags = {} } = options
  if (!/^[a-z\d]+(-[a-z\d]+)+$/.test(region ?? ''))
    throw new StartError('awsKms(): set the region, such as eu-central-1')
  const url = endpoint !== undefined && URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (endpoint !== undefined && (!url || !/^https?:$/.test(url.protocol) || url.username || url.password))
    throw new StartError(
      'awsKms(): the endpoint is not an address like https://kms.eu-central-1.amazonaws.com',
    )
  const outbounds = {
    reused: createOutbound({ name: 'AWS KMS', keepAlive: true, clock }),
    fresh: createOutbound({ name: 'AWS KMS', clock }),
  }
  const calls = new PendingPromises()
  let client: KMSClient | undefined

  // Loaded at the first call: a command that needs no keys does not load it.
  const load = () => import('@aws-sdk/client-kms')

  async function connect(): Promise<KMSClient> {
    const { KMSClient } = await load()
    client ??= new KMSClient({
      region,
      ...(endpoint !== undefined && { endpoint }),
      ...(credentials !== undefined && { credentials }),
      // What was not answered is repeated by those who know whether that is harmless.
      maxAttempts: 1,
      // On a connection that is reused nobody may know whether a key was created; all other calls can be repeated.
      requestHandler: awsRequestHandler(({ headers }) =>
        headers['x-amz-target']?.endsWith('.CreateKey') ? outbounds.fresh : outbounds.reused,
      ) as NonNullable<KMSClientConfig['requestHandler']>,
    })
    return client
  }

  /** Makes calls; `work` rejects with what the SDK throws. */
  const run = <T>(
    work: (client: KMSClient, sdk: Awaited<ReturnType<typeof load>>) => Promise<T>,
  ): Promise<{ answer: T } | { failure: NotAccepted }> =>
    calls.add(
      (async () => {
        try {
          return { answer: await work(await connect(), await load()) }
        } catch (error) {
          return { failure: failureOf(error) }
        }
      })(),
    )

  return {
    name: 'aws-kms',

    async create(limitMs) {
      const deadline = clock.elapsed() + limitMs
      const createResult = await run((client, { CreateKeyCommand }) =>
        client.send(
          new CreateKeyCommand({
            KeySpec: 'ECC_SECG_P256K1',
            KeyUsage: 'SIGN_VERIFY',
            Description: 'A wallet of Sixwire',
            Tags: Object.entries(tags).map(([TagKey, TagValue]) => ({ TagKey, TagValue })),
          }),
          { requestTimeout: limitMs },
        ),
      )
      if ('failure' in createResult) return createResult.failure
      const reference = createResult.answer.KeyMetadata?.Arn
      if (reference === undefined)
        return { kind: 'unknown', reason: 'AWS KMS answered CreateKey without the ARN of the key' }
      const keyResult = await run((client, { GetPublicKeyCommand }) =>
        client.send(new GetPublicKeyCommand({ KeyId: reference }), {
          requestTimeout: Math.max(1, deadline - clock.elapsed()),
        }),
      )
      const address = 'answer' in keyResult ? addressOf(keyResult.answer.PublicKey) : undefined
      if (address !== undefined) return { kind: 'accepted', key: { address, reference } }
      const reason =
        'failure' in keyResult ? keyResult.failure.reason : 'AWS KMS answered another kind of key'
      return { kind: 'unknown', reason: `${reference} was created and is not used: ${reason}` }
    },

    async sign({ address, reference }, hash, limitMs) {
      const signResult = await run((client, { SignCommand }) =>
        client.send(
          new SignCommand({
            KeyId: reference,
            Message: Buffer.from(hash.slice(2), 'hex'),
            MessageType: 'DIGEST',
            SigningAlgorithm: 'ECDSA_SHA_256',
          }),
          { requestTimeout: limitMs },
        ),
      )
      if ('failure' in signResult) {
        const { kind, reason } = signResult.failure
        // Nothing comes of a signature that nobody has seen.
        return { kind: kind === 'refused' ? kind : 'retry', reason }
      }
      const signature = signatureOf(signResult.answer.Signature, hash, address)
      return signature
        ? { kind: 'accepted', signature }
        : { kind: 'retry', reason: `AWS KMS answered what is no signature of ${address}` }
    },

    async check() {
      const listResult = await run((client, { ListKeysCommand }) =>
        client.send(new ListKeysCommand({ Limit: 1 }), { requestTimeout: CHECK_MS }),
      )
      // An answer about permissions shows that the credentials are known.
      if ('failure' in listResult && !listResult.failure.reason.includes('AccessDeniedException'))
        throw new Error(listResult.failure.reason)
    },

    async close() {
      await calls.idle()
      client?.destroy()
      outbounds.reused.close()
      outbounds.fresh.close()
    },
  }
}

/** What a call that failed means. No more than the name of an error is told: its text may quote what was signed. */
function failureOf(error: unknown): NotAccepted {
  if (error instanceof Unanswered)
    return { kind: error.kind === 'not-sent' ? 'retry' : 'unknown', reason: error.message }
  const { name, $metadata } = error as { name?: unknown; $metadata?: { httpStatusCode?: number } }
  const status = $metadata?.httpStatusCode
  const code = oneLine(typeof name === 'string' ? name : 'an error', REASON_MAX)
  if (code === 'CredentialsProviderError')
    return { kind: 'retry', reason: 'no credentials for AWS KMS were found (CredentialsProviderError)' }
  if (status === undefined || status < 300)
    return { kind: 'unknown', reason: `AWS KMS gave no answer that can be read (${code})` }
  const reason = `AWS KMS answered ${status} ${code}`
  if (status >= 500) return { kind: 'unknown', reason }
  return { kind: status === 429 || PASSING.has(code) ? 'retry' : 'refused', reason }
}

/** The address of a public key in DER (RFC 5480); undefined if it is of another curve. */
function addressOf(der: Uint8Array | undefined): Address | undefined {
  try {
    const key = createPublicKey({ key: Buffer.from(der!), format: 'der', type: 'spki' })
    const { crv, x = '', y = '' } = key.export({ format: 'jwk' })
    if (crv !== 'secp256k1') return undefined
    const [left, right] = [Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]
    return publicKeyToAddress(bytesToHex(Buffer.concat([Buffer.from([4]), left, right])))
  } catch {
    return undefined
  }
}

/** A signature in DER as a transaction has it: with the lower of the two s (EIP-2), and which point its r is of. */
function signatureOf(der: Uint8Array | undefined, hash: Hex, address: Address): Signature | undefined {
  try {
    const signature = secp256k1.Signature.fromDER(der!).normalizeS()
    for (const yParity of [0, 1] as const) {
      const point = signature.addRecoveryBit(yParity).recoverPublicKey(hash.slice(2))
      if (publicKeyToAddress(`0x${point.toHex(false)}`) !== address) continue
      const [r, s] = [numberToHex(signature.r, { size: 32 }), numberToHex(signature.s, { size: 32 })]
      return { r, s, yParity }
    }
  } catch {
    // No signature, or of no point.
  }
  return undefined
}
