// What hostile.test.ts does at each run, with every record and look: see server/src/testing/long-run.ts.
process.env['LONG_RUN'] = 'on'
await import('./hostile.test.ts')
