// Loaded into every test process by `npm test`. A file whose tests are over while its process does not end
// (a server that nobody closed, a call that a timed-out test still waits for) fails, instead of holding up the run.
import { after } from 'node:test'

import { keepCounts } from './counts.ts'

const PATIENCE = 10_000 // ms

if (process.env['NODE_TEST_CONTEXT']) {
  keepCounts()
  after(() => {
    setTimeout(() => {
      const open = process.getActiveResourcesInfo().filter((kind) => kind !== 'PipeWrap') // the pipes to the runner
      process.stderr.write(
        `Left open after the tests, so the process does not end: ${open.join(', ')}. Close it.\n`,
      )
      process.exit(1)
    }, PATIENCE).unref()
  })
}
