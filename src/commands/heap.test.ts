import assert from 'node:assert/strict'
import { test } from 'node:test'

import { startScript, urlLiteral } from '../testing/program.ts'

test('the young heap grows to 16 MiB under load, also after it was idle, and no further', async (t) => {
  const program = await startScript(
    t,
    `import { setImmediate as turn } from 'node:timers/promises'
     import { getHeapSpaceStatistics } from 'node:v8'
     import { runInNewContext } from 'node:vm'
     import { collectAfterStart } from ${urlLiteral('commands/heap.ts')}
     const MIB = 1_048_576
     const young = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / MIB
     collectAfterStart()
     const collect = runInNewContext('gc')
     for (const round of [1, 2]) {
       console.log('before', young())
       const alive = []
       for (let at = 0, most = 0; at < 200_000; at++) {
         alive[at % 20_000] = { at, text: 'text ' + at, list: [at, at, at, at] }
         if (at % 1000 === 0) await turn()
         most = Math.max(most, at % 1000 === 0 ? young() : 0)
         if (at === 199_999) console.log('under load', most)
       }
       alive.length = 0
       collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
       await turn()
     }`,
  )
  assert.equal(await program.ended, 0)
  const sizes = (word: string): number[] =>
    program.lines().flatMap((line) => (line.startsWith(word) ? [Number(line.slice(word.length))] : []))
  assert.equal(sizes('before').length, 2)
  for (const size of sizes('before')) assert.ok(size <= 4, program.output())
  for (const size of sizes('under load')) assert.ok(size > 8 && size <= 16, program.output())
})
