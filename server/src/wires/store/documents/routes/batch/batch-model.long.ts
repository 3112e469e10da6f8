// What batch-model.test.ts does at each run, with more calls at once: see server/src/testing/long-run.ts.
process.env['LONG_RUN'] = 'on'
await import('./batch-model.test.ts')
