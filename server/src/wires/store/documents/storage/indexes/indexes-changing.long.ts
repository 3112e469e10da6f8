// What indexes-changing.test.ts does at each run, at length: see server/src/testing/long-run.ts.
process.env['LONG_RUN'] = 'on'
await import('./indexes-changing.test.ts')
