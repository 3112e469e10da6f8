import { defineErrors } from '../../base/errors.ts'

export const authErrors = defineErrors({
  invalid_token: [400, 'This link is not valid, was used, or has expired: request another one.'],
  invalid_state: [
    400,
    'This sign-in was started in another browser, was finished already, or took too long: start again.',
  ],
  email_required: [400, 'The identity provider returned no usable email address.'],
  invalid_credentials: [401, 'The email address or the password is wrong.'],
  second_factor_required: [
    401,
    'A second factor is required: send the challenge in details with a code or a passkey to POST /auth/second-factor.',
  ],
  invalid_challenge: [
    401,
    'This challenge is not valid, was used, or has expired: sign in again from the start.',
  ],
  invalid_code: [401, 'This code is wrong, was used, or has expired.'],
  invalid_passkey: [401, 'This passkey could not be verified, or belongs to no account here.'],
  registration_closed: [403, 'Registration is closed on this server.'],
  access_denied: [403, 'Access was denied at the identity provider.'],
  account_disabled: [403, 'This account is disabled.'],
  account_exists: [
    409,
    'This address has an account already: verify it here and at the provider, then sign in with the provider again.',
  ],
  other_browser: [
    409,
    'This link was not requested in this browser: ask the user whether they requested it, then repeat with confirmed: true.',
  ],
  email_taken: [409, 'This address has an account already: sign in, or use another address.'],
  account_locked: [423, 'Too many wrong passwords or codes for this address: wait before the next attempt.'],
  provider_error: [502, 'The identity provider could not be reached, or its answer could not be verified.'],
})
