// What one-moment.test.ts does at each run, with more connections: see server/src/testing/long-run.ts.
process.env['LONG_RUN'] = 'on'
await import('./one-moment.test.ts')
