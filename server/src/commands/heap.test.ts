import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { temporaryFolder } from '../testing/engines.ts'
import { startProgram, startScript, urlLiteral } from '../testing/program.ts'

test('the young heap grows to 12 MiB under load, also after it was idle, and no further', async (t) => {
  const program = await startScript(
    t,
    `import { setImmediate as turn } from 'node:timers/promises'
     import { getHeapSpaceStatistics } from 'node:v8'
     import { runInNewContext } from 'node:vm'
     import { settleHeap } from ${urlLiteral('commands/heap.ts')}
     const MIB = 1_048_576
     const young = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / MIB
     settleHeap()
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
  for (const size of sizes('under load')) assert.ok(size > 4 && size <= 12, program.output())
})

test('a start keeps what it compiled, for its threads too and even if it is killed', async (t) => {
  const folder = await temporaryFolder(t)
  const cache = join(folder, 'compiled')
  const program = startProgram(t, ['start'], { folder, environment: { NODE_COMPILE_CACHE: cache } })
  await program.url()
  await program.kill()
  // A folder for each set of V8's flags: a thread of the start has those of the process.
  const sets = await readdir(cache)
  assert.equal(sets.length, 1, sets.join())
  const compiled = await readdir(join(cache, sets[0]!))
  assert.ok(compiled.length > 500, String(compiled.length))
})
