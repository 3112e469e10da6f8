// What exactly-once.test.ts does at each run, in full: see server/src/testing/long-run.ts.
process.env['LONG_RUN'] = 'on'
await import('./exactly-once.test.ts')
