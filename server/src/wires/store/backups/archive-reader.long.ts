// What archive-reader.test.ts does at each run, in full: see server/src/testing/long-run.ts.
process.env['LONG_RUN'] = 'on'
await import('./archive-reader.test.ts')
