// All pages, of which appearance.test.ts takes three at each run: see server/src/testing/long-run.ts.
process.env['LONG_RUN'] = 'on'
await import('./appearance.test.ts')
