// What these tests show on one engine at each run, on both: see src/testing/long-run.ts.
process.env['LONG_RUN'] = 'on'
await import('./docs.test.ts')
await import('./docs-collections.test.ts')
await import('../http/openapi-examples.test.ts')
await import('../commands/commands.test.ts')
await import('../kernel/lifecycle/lifecycle.test.ts')
