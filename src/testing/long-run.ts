/**
 * Whether a test is to try everything that it can, however long that takes: under `npm run test:long`, where a `.long.ts`
 * file beside it sets the variable. Otherwise it takes a part, and another one at each run.
 */
export const isLongRun = process.env['LONG_RUN'] === 'on'
