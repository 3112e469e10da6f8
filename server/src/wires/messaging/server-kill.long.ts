// What server-kill.test.ts does on one engine and of one sender at each run, on both and of each: see server/src/testing/long-run.ts.
process.env['LONG_RUN'] = 'on'
await import('./server-kill.test.ts')
