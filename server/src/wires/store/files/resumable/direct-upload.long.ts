// What direct-upload.test.ts does at each run, against the server that SIXWIRE_TEST_S3 names: it compares signatures, and lists parts.
process.env['LONG_RUN'] = 'on'
await import('./direct-upload.test.ts')
