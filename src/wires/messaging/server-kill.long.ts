// What server-kill.test.ts does on one engine at each run, on both: see src/testing/long-run.ts.
process.env['LONG_RUN'] = 'on'
await import('./server-kill.test.ts')
