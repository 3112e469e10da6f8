import { defineErrors } from '../../base/errors.ts'

export const authErrors = defineErrors({
  invalid_token: [400, 'This link is not valid, was used, or has expired: request another one.'],
  invalid_state: [
    400,
    'This sign-in was started in another browser, was finished already, or took too long: start again.',
  ],
  email_required: [400, 'The identity provider returned no usable email address.'],
  invalid_credentials: [401, 'The email address or the password is wrong.'],
  registration_closed: [403, 'Registration is closed on this server.'],
  access_denied: [403, 'Access was denied at the identity provider.'],
  account_disabled: [403, 'This account is disabled.'],
  recent_sign_in_required: [
    403,
    'This requires a sign-in within the last 10 minutes: sign in again, and repeat it with the new token.',
  ],
  account_exists: [
    409,
    'This address has an account already: verify it here and at the provider, then sign in with the provider again.',
  ],
  email_taken: [409, 'This address has an account already: sign in, or use another address.'],
  account_locked: [423, 'Too many wrong passwords for this address: wait before the next attempt.'],
  provider_error: [502, 'The identity provider could not be reached, or its answer could not be verified.'],
})
