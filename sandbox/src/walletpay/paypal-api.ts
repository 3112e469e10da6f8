import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'

import type { Logger } from '../../../server/src/base/logger.ts'
import type { Clock } from '../../../server/src/base/clock.ts'
import { isSameSecret } from '../../../server/src/base/crypto.ts'
import { decodeUtf8, parseStrictJson } from '../../../server/src/base/json.ts'
import type { Database } from '../../../server/src/db/database.ts'
import { faulty, type Faults, type FaultyHandler } from '../faults.ts'
import { formOf, takeForms } from '../forms.ts'
import { addCheckoutRoutes } from './checkout-api.ts'
import { addDisputeRoutes } from './disputes-api.ts'
import { answerAsPayPal, malformed, notFound, PayPalError } from './errors.ts'
import { addNotificationRoutes } from './notifications-api.ts'
import { tokenOf, isValidToken, TOKEN_SECONDS } from './tokens.ts'
import type { WalletProvider } from './wallet.ts'

const refuse = (status: number): never => {
  throw new PayPalError(status, [
    { issue: 'SANDBOX_FAULT', description: 'A fault is set for this provider at /sandbox.' },
  ])
}

/** PayPal's REST API, below one prefix. */
export function createPayPalApi(options: {
  db: Database
  clock: Clock
  log: Logger
  faults: Faults
  wallet: WalletProvider
}): FastifyPluginAsync {
  const { db, clock, log, faults, wallet } = options
  const { clientId, clientSecret } = wallet.credentials
  const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
  const answering = (handle: FaultyHandler) => faulty(faults, 'walletpay', refuse, handle)

  // RFC 6749, section 4.4
  async function token(request: FastifyRequest, reply: FastifyReply) {
    if (!isSameSecret(request.headers.authorization ?? '', basic)) {
      reply.code(401)
      return { error: 'invalid_client', error_description: 'Client Authentication failed' }
    }
    if (formOf(request.body).get('grant_type') !== 'client_credentials') {
      reply.code(400)
      return {
        error: 'unsupported_grant_type',
        error_description: 'The grant type must be client_credentials.',
      }
    }
    reply.header('cache-control', 'no-store')
    return {
      scope:
        'https://uri.paypal.com/services/payments/payment https://uri.paypal.com/services/disputes/read-seller',
      access_token: tokenOf(wallet.key, clock.now()),
      token_type: 'Bearer',
      app_id: 'APP-SANDBOX',
      expires_in: TOKEN_SECONDS,
      nonce: new Date(clock.now()).toISOString(),
    }
  }

  async function certificate({ params }: FastifyRequest, reply: FastifyReply) {
    const key = await wallet.keys.get()
    if ((params as { id: string }).id !== key.certId) throw notFound()
    reply.type('application/x-pem-file')
    return key.certificate
  }

  return async (engine) => {
    answerAsPayPal(engine, log)
    engine.removeAllContentTypeParsers()
    await engine.register(async (open) => {
      takeForms(open)
      open.post('/v1/oauth2/token', answering(token))
      open.get('/v1/notifications/certs/:id', answering(certificate))
    })
    await engine.register(async (closed) => {
      closed.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, bytes, done) => {
        try {
          done(null, bytes.length === 0 ? undefined : parseStrictJson(decodeUtf8(bytes as Buffer)))
        } catch {
          done(malformed('MALFORMED_REQUEST_JSON', 'The body is not JSON.'))
        }
      })
      closed.addHook('onRequest', async ({ headers }) => {
        const [, accessToken] = /^Bearer (\S+)$/i.exec(headers.authorization ?? '') ?? []
        if (accessToken === undefined || !isValidToken(wallet.key, accessToken, clock.now()))
          throw new PayPalError(401)
      })
      addCheckoutRoutes(closed, { wallet, answering })
      addNotificationRoutes(closed, { db, wallet, clock, answering })
      addDisputeRoutes(closed, { wallet, answering })
    })
  }
}
