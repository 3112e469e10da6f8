// What s3-storage.test.ts does at each run, in full, and against the server that SIXWIRE_TEST_S3 names: see docs/decisions/036-s3.md.
process.env['LONG_RUN'] = 'on'
await import('./s3-storage.test.ts')
