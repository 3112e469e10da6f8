// What aggregates.property.test.ts does at each run, at length: see server/src/testing/long-run.ts.
process.env['LONG_RUN'] = 'on'
await import('./aggregates.property.test.ts')
