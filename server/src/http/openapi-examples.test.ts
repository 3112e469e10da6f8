// The examples of /openapi.json, sent as they are: what a person does who presses "Execute" at /docs.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { Ajv } from 'ajv'

import { startApp, type TestApp } from '../testing/app.ts'
import { resolved } from '../testing/description.ts'
import { someEngine, endOfSuite } from '../testing/engines.ts'

type Parameter = { name: string; in: string; required?: boolean; schema: object; example?: unknown }
type Described = {
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: { examples?: unknown[] } }> }
}
type Example = { key: string; type: string; schema: object; example: unknown }

const MULTIPART = 'multipart/form-data'
/** Bytes are for a program that knows what to send; a file is chosen by the person. */
const OF_BYTES = new Set(['*/*', MULTIPART, 'application/offset+octet-stream'])

/** A body with a file, which no example can hold. */
const WITH_FILE =
  '--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n{}\r\n--b--\r\n'

const NO_CONTRACT = '/params/contractAddress: is the address of no contract on the chain ethereum'

// They need something that only this server knows, or the secret of another party. Of a VALIDATION_ERROR, what it says.
const REFUSED: Record<string, string> = {
  'GET /messaging/preview': 'NOT_FOUND',
  'POST /messaging/reports/{provider}': 'INVALID_SIGNATURE',
  'POST /messaging/twilio/status': 'INVALID_SIGNATURE',
  'POST /messaging/email/bounce': 'INVALID_SIGNATURE',
  'POST /auth/refresh': 'UNAUTHORIZED',
  'DELETE /auth/sessions/{id}': 'NOT_FOUND',
  'POST /auth/passkeys/sign-in': 'INVALID_PASSKEY',
  'POST /auth/passkeys': 'INVALID_PASSKEY',
  'PATCH /auth/passkeys/{id}': 'NOT_FOUND',
  'DELETE /auth/passkeys/{id}': 'NOT_FOUND',
  'POST /auth/totp/verify': 'INVALID_CODE',
  'DELETE /auth/totp': 'NOT_FOUND',
  'DELETE /auth/devices/{id}': 'NOT_FOUND',
  'POST /auth/second-factor': 'INVALID_CHALLENGE',
  'POST /auth/second-factor/passkey-options': 'INVALID_CHALLENGE',
  'POST /auth/recovery-codes': 'CONFLICT',
  'POST /auth/reset-password': 'INVALID_TOKEN',
  'POST /auth/verify-magic-link': 'INVALID_TOKEN',
  'POST /auth/verify-code': 'INVALID_CODE',
  'POST /auth/phone/verify': 'INVALID_CODE',
  'DELETE /auth/phone': 'NOT_FOUND',
  'POST /auth/verify-email': 'INVALID_TOKEN',
  'POST /auth/verify-email-change': 'INVALID_TOKEN',
  'POST /auth/undo-email-change': 'INVALID_TOKEN',
  'POST /pay/cardpay/refund': 'NOT_FOUND',
  'POST /pay/cardpay/webhook': 'INVALID_SIGNATURE',
  'POST /pay/walletpay/capture/{orderId}': 'NOT_FOUND',
  'POST /pay/walletpay/refund': 'NOT_FOUND',
  'POST /pay/walletpay/webhook': 'INVALID_SIGNATURE',
  'GET /pay/transactions/{id}': 'NOT_FOUND',
  'POST /pay/transactions/{id}/cancel': 'NOT_FOUND',
  'GET /pay/onchain/payment/{id}': 'NOT_FOUND',
  'GET /onchain/transactions/{hash}': 'NOT_FOUND',
  'GET /onchain/wallets/{id}': 'NOT_FOUND',
  'GET /onchain/wallets/{id}/balances': 'NOT_FOUND',
  'GET /onchain/nft/{contractAddress}/owner/{ownerAddress}': NO_CONTRACT,
  'GET /onchain/nft/{contractAddress}/{tokenId}': NO_CONTRACT,
  'POST /onchain/nft/mint': 'NOT_FOUND',
  'POST /onchain/nft/transfer': 'NOT_FOUND',
  'POST /onchain/contracts/read': '/body/address: is not the address of a contract on ethereum',
  'POST /onchain/contracts/write': 'NOT_FOUND',
  'POST /onchain/transactions': 'NOT_FOUND',
  'POST /onchain/wallets/import':
    '/body/privateKey: is no private key: it must be above 0 and below the order of secp256k1',
  'GET /store/{collection}/{id}': 'NOT_FOUND',
  'PUT /store/{collection}': '/query/by: email is not unique in books: declare it in its option unique',
  'PUT /store/{collection}/{id}': 'NOT_FOUND',
  'PATCH /store/{collection}': '/query/by: email is not unique in books: declare it in its option unique',
  'PATCH /store/{collection}/{id}': 'NOT_FOUND',
  'DELETE /store/{collection}/{id}': 'NOT_FOUND',
  'GET /store/uploads/{id}': 'NOT_FOUND',
  'PATCH /store/uploads/{id}': 'NOT_FOUND',
  'DELETE /store/uploads/{id}': 'NOT_FOUND',
  'GET /store/files/{id}': 'NOT_FOUND',
  'GET /store/files/public/{name}': 'NOT_FOUND',
  'PATCH /store/files/{id}': 'NOT_FOUND',
  'DELETE /store/files/{id}': 'NOT_FOUND',
  'GET /store/files/{id}/content': 'NOT_FOUND',
  'POST /store/files/{id}/link': 'NOT_FOUND',
  'POST /store/upload-links/{id}': 'UNAUTHORIZED',
  'GET /store/upload-links/{id}': 'NOT_FOUND',
  'DELETE /store/upload-links/{id}': 'NOT_FOUND',
  'GET /store/backups/{id}': 'NOT_FOUND',
  'DELETE /store/backups/{id}': 'NOT_FOUND',
  'POST /store/backup/{id}/restore': 'NOT_FOUND',
  'DELETE /auth/keys/{id}': 'NOT_FOUND',
  'DELETE /auth/users/{id}': 'NOT_FOUND',
  'DELETE /auth/users/{id}/factors': 'NOT_FOUND',
  'DELETE /auth/users/{id}/notes/{noteId}': 'NOT_FOUND',
  'DELETE /auth/users/{id}/sessions': 'NOT_FOUND',
  'DELETE /auth/users/{id}/sessions/{sid}': 'NOT_FOUND',
  'DELETE /console/session': 'FORBIDDEN',
  'DELETE /core/jobs/{id}': 'NOT_FOUND',
  'DELETE /store/{collection}': 'CONFLICT',
  'GET /auth/exports/{id}': 'UNAUTHORIZED',
  'GET /auth/users/{id}': 'NOT_FOUND',
  'GET /auth/users/{id}/deletion': 'NOT_FOUND',
  'GET /auth/users/{id}/export': 'NOT_FOUND',
  'GET /auth/users/{id}/notes': 'NOT_FOUND',
  'GET /auth/users/{id}/sessions': 'NOT_FOUND',
  'GET /auth/users/{id}/timeline': 'NOT_FOUND',
  'GET /core/jobs/{id}': 'NOT_FOUND',
  'GET /core/logs/stream': 'FORBIDDEN',
  'GET /messaging/logs/{id}': 'NOT_FOUND',
  'GET /messaging/logs/{id}/content': 'NOT_FOUND',
  'GET /pay/events/{id}': 'NOT_FOUND',
  'GET /pay/transactions/{id}/timeline': 'NOT_FOUND',
  'GET /store/files/{id}/uses': 'NOT_FOUND',
  'GET /store/backups/{id}/archive': 'NOT_FOUND',
  'GET /store/backups/{id}/check': 'NOT_FOUND',
  'PATCH /auth/users/{id}': 'NOT_FOUND',
  'POST /auth/first-admin': 'INVALID_TOKEN',
  'POST /auth/users': 'EMAIL_TAKEN',
  'POST /auth/users/{id}/impersonate': 'NOT_FOUND',
  'POST /auth/users/{id}/invite': 'NOT_FOUND',
  'POST /auth/users/{id}/notes': 'NOT_FOUND',
  'POST /auth/users/{id}/reset': 'NOT_FOUND',
  'POST /auth/users/{id}/unlock': 'NOT_FOUND',
  'POST /auth/users/{id}/verify': 'NOT_FOUND',
  'POST /console/session': 'FORBIDDEN',
  'POST /core/jobs/retry': 'NOT_FOUND',
  'POST /core/jobs/{id}/retry': 'NOT_FOUND',
  'POST /core/logs/faults/{id}/resolve': 'NOT_FOUND',
  'POST /core/webhooks/deliveries/{id}/retry': 'NOT_FOUND',
  'POST /core/webhooks/{name}/enable': 'NOT_FOUND',
  'POST /messaging/logs/{id}/resend': 'NOT_FOUND',
  'POST /onchain/transactions/{hash}/cancel': 'NOT_FOUND',
  'POST /onchain/transactions/{hash}/speed-up': 'NOT_FOUND',
  'POST /pay/events/{id}/replay': 'NOT_FOUND',
}

someEngine((engine) => {
  describe('the examples of /openapi.json', () => {
    let app: TestApp
    let operations: { key: string; described: Described }[]
    const ending = endOfSuite()
    before(async () => {
      app = await startApp(ending, engine, { sandbox: true })
      const { paths } = resolved((await app.request('GET', '/openapi.json')).body)
      operations = Object.entries<Record<string, Described>>(paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, described]) => ({
          key: `${method.toUpperCase()} ${path}`,
          described,
        })),
      )
    })

    test('every body and every parameter that is needed has one, and it fits its schema', () => {
      const ajv = new Ajv({ strict: false, validateFormats: false })
      const given: Example[] = operations.flatMap(({ key, described }) => [
        ...Object.entries(described.requestBody?.content ?? {})
          .filter(([type]) => !OF_BYTES.has(type))
          .map(([type, { schema }]) => ({ key, type, schema, example: schema.examples?.[0] })),
        ...(described.parameters ?? [])
          .filter(({ required, example }) => required || example !== undefined)
          .map(({ name, schema, example }) => ({ key, type: name, schema, example })),
      ])
      assert.ok(given.length > 20)
      for (const { key, type, schema, example } of given) {
        assert.notEqual(example, undefined, `${key} has no example of ${type}`)
        assert.ok(ajv.validate(schema, example), `${key} ${type}: ${ajv.errorsText(ajv.errors)}`)
      }
    })

    test('each is answered with a success, or needs what no example can know', async () => {
      const refused: Record<string, string> = {}
      const admin = await app.register() // the first account
      const forOperators = new Set(
        app.app.routes.flatMap(({ routes }) =>
          routes
            .filter(({ spec }) => spec.access === 'operator' && !spec.stream)
            .map(({ method, path: at }) => `${method} ${at.replaceAll(/:(\w+)/g, '{$1}')}`),
        ),
      )
      for (const { key, described } of operations) {
        const [method, path] = key.split(' ') as [string, string]
        const examples = (described.parameters ?? []).filter(({ example }) => example !== undefined)
        const filled = examples
          .filter((one) => one.in === 'path')
          .reduce((text, { name, example }) => text.replace(`{${name}}`, String(example)), path)
        const query = new URLSearchParams(
          examples.filter((one) => one.in === 'query').map(({ name, example }) => [name, String(example)]),
        )
        const inHead = Object.fromEntries(
          examples.filter((one) => one.in === 'header').map(({ name, example }) => [name, String(example)]),
        )
        const [type, media] = Object.entries(described.requestBody?.content ?? {})[0] ?? []
        // Of another person each time: some sign out, or delete the account.
        const { token } = forOperators.has(key) ? admin : await app.register()
        const answered = await app.request(method, `${filled}?${query.toString()}`, {
          token,
          // A stream would not end.
          headers: { accept: 'application/json', ...inHead },
          ...(media && {
            raw:
              type === MULTIPART
                ? WITH_FILE
                : type!.endsWith('json')
                  ? JSON.stringify(media.schema.examples?.[0])
                  : new URLSearchParams(media.schema.examples?.[0] as Record<string, string>).toString(),
            headers: { ...inHead, 'content-type': type === MULTIPART ? `${type}; boundary=b` : type! },
          }),
        })
        if (answered.status < 400) continue
        const { code, message } = answered.body.error
        refused[key] = code === 'VALIDATION_ERROR' ? message : code
      }
      assert.deepEqual(refused, REFUSED)
    })
  })
})
