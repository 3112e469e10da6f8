// What search.test.ts does at each run, in full: see server/src/testing/long-run.ts.
process.env['LONG_RUN'] = 'on'
await import('./search.test.ts')
