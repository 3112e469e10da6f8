// What these tests show on one engine at each run, on both: see server/src/testing/long-run.ts.
import { runOnBothEngines } from './testing/both-engines.ts'

await runOnBothEngines(import.meta.dirname, ['*.test.ts', '{commands,http,kernel,wires}/**/*.test.ts'])
