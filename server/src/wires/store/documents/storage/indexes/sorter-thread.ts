// The thread that makes and sorts the entries of one build, so that the event loop does not.
import { parentPort, workerData } from 'node:worker_threads'

import { lowerPriority } from '../../../../../base/thread-priority.ts'
import { EntrySorter, type EntryBatch, type SortedDocuments, type SorterRules } from './entry-sorter.ts'

/** Each is answered, in order. */
export type SorterRequest = { kind: 'add'; lines: Uint8Array<ArrayBuffer> } | { kind: 'end' | 'next' }
export type SorterAnswer = SortedDocuments | EntryBatch | undefined | void

lowerPriority()
const sorter = new EntrySorter(workerData as SorterRules)

// What it throws ends the thread.
parentPort!.on('message', (request: SorterRequest) => {
  const answer: SorterAnswer = request.kind === 'add' ? sorter.add(request.lines) : sorter[request.kind]()
  parentPort!.postMessage(answer)
})
