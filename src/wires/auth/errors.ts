import { defineErrors } from '../../base/errors.ts'

export const authErrors = defineErrors({
  invalid_credentials: [401, 'The email address or the password is wrong.'],
  registration_closed: [403, 'This server takes no new accounts.'],
  email_taken: [409, 'This address has an account already: sign in, or use another address.'],
  account_locked: [423, 'Too many wrong passwords for this address: wait before the next try.'],
})
