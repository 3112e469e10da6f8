// The numbering plans of all countries, which recipients.ts loads when it needs them.
export { parsePhoneNumberFromString } from 'libphonenumber-js/min'
