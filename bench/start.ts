import type { Bench } from './bench.ts'
import { seed } from './documents.ts'
import type { Program } from './servers.ts'
import { median } from './statistics.ts'

/** Milliseconds from starting the process to the first 200 of `/ready`. */
export type StartTimes = { median: number; times: number[] }
export type StartResult = { documents: number; floor: StartTimes; subject: StartTimes }

const STARTS = 10
const DOCUMENTS = 10_000

async function timesOf(
  bench: Bench,
  program: Program,
  database: string,
  documents: number,
): Promise<StartTimes> {
  const made = await bench.open(program, database)
  await seed(made, documents, (done) => bench.note(`seeding: ${done} of ${documents}`))
  await made.stop()
  const times: number[] = []
  for (let start = 0; start < STARTS; start++) {
    bench.note(`start ${start + 1} of ${STARTS}`)
    const server = await bench.open(program, database)
    times.push(server.startMs)
    await server.stop()
  }
  return { median: median(times), times }
}

/** How long does a start take on a database that exists? */
export async function runStarts(bench: Bench): Promise<StartResult> {
  const documents = Math.min(DOCUMENTS, bench.options.documents)
  return {
    documents,
    floor: await timesOf(bench, 'floor', 'startfloor', documents),
    subject: await timesOf(bench, bench.subject, 'startsubject', documents),
  }
}
