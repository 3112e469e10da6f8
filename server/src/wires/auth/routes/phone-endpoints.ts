import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { json } from '../../../http/bodies.ts'
import { endpoint } from '../../../http/route.ts'
import { phoneNumber } from '../../messaging/index.ts'
import { authErrors } from '../errors.ts'
import { Code, Message, Phone } from './schemas.ts'
import type { Phones } from '../messages/phones.ts'
import { requireTexts, type Texts } from '../messages/texts.ts'

/** The endpoints of the signed-in user's phone number. */
export function phoneEndpoints({ phones, texts }: { phones: Phones; texts: Texts }) {
  return {
    add: endpoint(
      {
        summary: 'Send an SMS with a code to a number that the account is to have',
        description:
          'POST /auth/phone/verify takes the code, which is valid for 10 minutes and five attempts. A number gets 3 of these messages at once, then one every 20 minutes, and so does an account.',
        access: 'session',
        proof: 'recent',
        limit: '20/hour',
        idempotent: true,
        body: json(Type.Object({ phone: Phone }, { title: 'PhoneRequest' })),
        reply: { 200: Message },
        errors: [errors.provider_not_configured],
      },
      async ({ body, caller, recordId }) => {
        requireTexts(texts)
        const phone = phoneNumber(body.phone)
        await phones.add(recordId, caller, phone)
        return { message: `An SMS with a code is sent to ${phone}.` }
      },
    ),
    verify: endpoint(
      {
        summary: 'Prove a phone number with the code of the SMS',
        description:
          'Replaces the number that the account had. From then on POST /auth/sms-code sends a code to sign in to it.',
        access: 'session',
        proof: 'recent',
        limit: '30/min',
        body: json(Type.Object({ code: Code }, { title: 'VerifyPhoneRequest' })),
        reply: { 200: Type.Object({ phone: Type.String() }, { title: 'VerifiedPhone' }) },
        errors: [authErrors.invalid_code, authErrors.account_locked, errors.conflict],
      },
      async ({ body, caller, record }) => {
        const phone = await phones.verify(caller, body.code)
        record('phone-added', { account: caller.id, session: caller.sessionId })
        return { phone }
      },
    ),
    remove: endpoint(
      {
        summary: 'Remove the phone number of the account',
        access: 'session',
        proof: 'recent',
        reply: { 200: Message },
        errors: [errors.not_found],
      },
      async ({ caller, record }) => {
        await phones.remove(caller)
        record('phone-removed', { account: caller.id, session: caller.sessionId })
        return { message: 'The phone number is removed.' }
      },
    ),
  }
}
