// A stand-in for AWS KMS: the four calls that a key store makes, with real keys, and faults as a test tells it to.
import { createHash, createHmac, randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'

import { secp256k1 } from '@noble/curves/secp256k1'

import type { Ending } from './engines.ts'
import { startScriptedServer, type ScriptedRequest } from './scripted-http.ts'

export const KMS_CREDENTIALS = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'a-secret-access-key-of-the-tests',
}

const REGION = 'eu-central-1'
/** SubjectPublicKeyInfo of a point of secp256k1, before the point (RFC 5480). */
const SPKI = Buffer.from('3056301006072a8648ce3d020106052b8104000a034200', 'hex')

/** What a call gets instead of its answer. */
export type KmsFault = { status: number; error?: string; body?: string } | 'drop' | 'silence'

export type KmsServer = {
  url: string
  region: string
  /** The names of the calls so far: `Sign`. */
  calls: string[]
  /** How many keys it has. */
  keys: () => number
  /** How many signatures it answered with the higher of the two s. */
  highS: () => number
  /** Decides what a call gets, by its name. */
  fail: (decide: (call: string) => KmsFault | undefined) => void
}

type Fields = { KeySpec?: string; KeyUsage?: string; KeyId?: string; Message?: string; MessageType?: string }

/** Starts it on a free port; it knows one access key. */
export async function startKms(ending: Ending): Promise<KmsServer> {
  const keys = new Map<string, Uint8Array>()
  const calls: string[] = []
  let highS = 0
  let decide: (call: string) => KmsFault | undefined = () => undefined

  const answers: Record<string, (fields: Fields) => object | undefined> = {
    CreateKey({ KeySpec, KeyUsage }) {
      if (KeySpec !== 'ECC_SECG_P256K1' || KeyUsage !== 'SIGN_VERIFY') return undefined
      const id = randomUUID()
      const arn = `arn:aws:kms:${REGION}:111122223333:key/${id}`
      keys.set(arn, secp256k1.utils.randomPrivateKey())
      return { KeyMetadata: { KeyId: id, Arn: arn, KeySpec, KeyUsage, KeyState: 'Enabled', Enabled: true } }
    },
    GetPublicKey({ KeyId = '' }) {
      const point = secp256k1.getPublicKey(keys.get(KeyId)!, false)
      return { KeyId, PublicKey: Buffer.concat([SPKI, point]).toString('base64') }
    },
    Sign({ KeyId = '', Message = '', MessageType }) {
      const digest = Buffer.from(Message, 'base64')
      if (MessageType !== 'DIGEST' || digest.length !== 32) return undefined
      const { r, s } = secp256k1.sign(digest, keys.get(KeyId)!)
      // Like KMS, it does not care which of the two s it answers.
      const isHigh = Math.random() < 0.5
      if (isHigh) highS++
      const signature = new secp256k1.Signature(r, isHigh ? secp256k1.CURVE.n - s : s)
      return { KeyId, Signature: Buffer.from(signature.toDERRawBytes()).toString('base64') }
    },
    ListKeys: () => ({ Keys: [], Truncated: false }),
  }

  const { port } = await startScriptedServer(ending, (asked, response) => {
    const call = String(asked.headers['x-amz-target']).replace('TrentService.', '')
    calls.push(call)
    const fault = decide(call)
    if (fault === 'silence') return
    if (fault === 'drop') return void response.destroy()
    if (fault) return send(response, fault.status, fault.body ?? { __type: fault.error, message: 'no' })
    if (!isSigned(asked)) return send(response, 400, { __type: 'InvalidSignatureException', message: 'no' })
    const fields = asked.json as Fields
    if (fields.KeyId !== undefined && !keys.has(fields.KeyId))
      return send(response, 400, {
        __type: 'NotFoundException',
        message: `Key ${fields.KeyId} does not exist`,
      })
    const answer = answers[call]?.(fields)
    send(response, answer ? 200 : 400, answer ?? { __type: 'ValidationException', message: 'no' })
  })

  return {
    url: `http://127.0.0.1:${port}`,
    region: REGION,
    calls,
    keys: () => keys.size,
    highS: () => highS,
    fail: (next) => void (decide = next),
  }
}

function send(response: ServerResponse, status: number, body: object | string): void {
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

/** Whether the request has a signature of the access key, within five minutes: AWS Signature Version 4. */
function isSigned({ method, path, body, headers }: ScriptedRequest): boolean {
  const match = /^AWS4-HMAC-SHA256 Credential=(\S+), SignedHeaders=(\S+), Signature=([\da-f]{64})$/.exec(
    headers.authorization ?? '',
  )
  if (!match) return false
  const [, credential = '', signedHeaders = '', signature] = match
  const [accessKeyId, day = '', ...rest] = credential.split('/')
  const time = String(headers['x-amz-date'])
  const at = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (accessKeyId !== KMS_CREDENTIALS.accessKeyId || rest.join('/') !== `${REGION}/kms/aws4_request`)
    return false
  if (!time.startsWith(day) || !(Math.abs(at - Date.now()) < 300_000)) return false
  const names = signedHeaders.split(';')
  if (!['host', 'x-amz-date', 'x-amz-target'].every((name) => names.includes(name))) return false
  const hash = (text: string) => createHash('sha256').update(text).digest('hex')
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
  const canonical = [
    method,
    path,
    '',
    ...names.map((name) => `${name}:${String(headers[name]).trim()}`),
    '',
    signedHeaders,
    hash(body),
  ].join('\n')
  const scope = [day, ...rest].join('/')
  const key = rest.reduce<Buffer>(hmac, hmac(`AWS4${KMS_CREDENTIALS.secretAccessKey}`, day))
  const expected = hmac(key, ['AWS4-HMAC-SHA256', time, scope, hash(canonical)].join('\n'))
  return expected.toString('hex') === signature
}
