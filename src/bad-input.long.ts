// The same as in every run, with ten times as many requests.
process.env['BAD_INPUT_RUNS'] = '300'
await import('./bad-input.test.ts')
