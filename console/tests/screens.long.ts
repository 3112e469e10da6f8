// What screens.test.ts does at each run, with every screen and look: see server/src/testing/long-run.ts.
process.env['LONG_RUN'] = 'on'
await import('./screens.test.ts')
