// What relations.test.ts does at each run, with more calls at once: see src/testing/long-run.ts.
process.env['LONG_RUN'] = 'on'
await import('./relations.test.ts')
