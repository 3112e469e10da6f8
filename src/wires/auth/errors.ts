import { defineErrors } from '../../base/errors.ts'

export const authErrors = defineErrors({
  invalid_token: [400, 'This link is not valid, was used, or has expired: ask for another one.'],
  invalid_state: [
    400,
    'This sign-in began in another browser, came back before, or took too long: begin again.',
  ],
  email_required: [400, 'The provider tells no address that an account could have.'],
  invalid_credentials: [401, 'The email address or the password is wrong.'],
  registration_closed: [403, 'This server takes no new accounts.'],
  access_denied: [403, 'Whoever was asked did not consent.'],
  account_disabled: [403, 'This account is disabled.'],
  account_exists: [
    409,
    'This address has an account already: verify it both here and at the provider, then sign in there again.',
  ],
  email_taken: [409, 'This address has an account already: sign in, or use another address.'],
  account_locked: [423, 'Too many wrong passwords for this address: wait before the next try.'],
  provider_error: [502, 'The identity provider could not be asked, or its answer proves nothing.'],
})
