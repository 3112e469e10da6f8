// What matcher.ts loads for the first pattern that needs it.
export { RE2JS } from 're2js'
