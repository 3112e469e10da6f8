// The thread that makes and sorts the entries of one build, so that the event loop does not.
import { parentPort, workerData } from 'node:worker_threads'

import { lowerPriority } from '../../../../base/thread-priority.ts'
import { EntrySorter, type EntryBatch, type SortedDocuments } from './entry-sorter.ts'

/** Each is answered, in order. */
export type SorterRequest =
  | { kind: 'add'; lines: Uint8Array<ArrayBuffer> }
  | { kind: 'end' }
  | { kind: 'next' }
export type SorterAnswer = SortedDocuments | EntryBatch | undefined

lowerPriority()
const sorter = new EntrySorter(workerData as ConstructorParameters<typeof EntrySorter>[0])

function answer(request: SorterRequest): SorterAnswer {
  switch (request.kind) {
    case 'add':
      sorter.add(request.lines)
      return undefined
    case 'end':
      return sorter.end()
    case 'next':
      return sorter.next()
  }
}

// What it throws ends the thread.
parentPort!.on('message', (request: SorterRequest) => parentPort!.postMessage(answer(request)))
