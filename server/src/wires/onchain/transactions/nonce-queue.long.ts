// All failures of nodes, of which nonce-queue.test.ts takes some at each run: see server/src/testing/long-run.ts.
process.env['LONG_RUN'] = 'on'
await import('./nonce-queue.test.ts')
