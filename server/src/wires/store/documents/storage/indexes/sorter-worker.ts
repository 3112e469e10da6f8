import { Worker } from 'node:worker_threads'

import { moduleAddress } from '../../../../../base/asset.ts'
import type { EntryBatch, SortedDocuments, SorterRules } from './entry-sorter.ts'
import type { SorterAnswer, SorterRequest } from './sorter-thread.ts'

// A document of a mebibyte may have keys of 16 MiB.
const LARGEST_HEAP_MB = 128

type Pending = { resolve: (answer: SorterAnswer) => void; reject: (error: Error) => void }

/** An `EntrySorter` in a thread of its own, which comes behind the event loop and the writer. */
export class SorterWorker {
  readonly #worker: Worker
  readonly #pending: Pending[] = []
  #broken: Error | undefined

  constructor({ fields, byOwner, isSparse, ignoreCase }: SorterRules) {
    this.#worker = new Worker(moduleAddress('wires/store/documents/storage/indexes/sorter-thread'), {
      workerData: { fields, byOwner, isSparse, ignoreCase } satisfies SorterRules,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: LARGEST_HEAP_MB },
    })
    this.#worker.on('message', (answer: SorterAnswer) => this.#pending.shift()!.resolve(answer))
    this.#worker.on('error', (error) => this.#break(error as Error))
    this.#worker.on('exit', () => this.#break(new Error('the thread that sorts entries has ended')))
  }

  #break(error: Error): void {
    this.#broken ??= error
    for (const { reject } of this.#pending.splice(0)) reject(this.#broken)
  }

  #ask(request: SorterRequest, transferred: ArrayBuffer[] = []): Promise<SorterAnswer> {
    return new Promise((resolve, reject) => {
      if (this.#broken) throw this.#broken
      this.#pending.push({ resolve, reject })
      this.#worker.postMessage(request, transferred)
    })
  }

  /**
   * Resolves when the lines were taken.
   *
   * @param lines cannot be used any more
   */
  async add(lines: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#ask({ kind: 'add', lines }, [lines.buffer])
  }

  end(): Promise<SortedDocuments> {
    return this.#ask({ kind: 'end' }) as Promise<SortedDocuments>
  }

  next(): Promise<EntryBatch | undefined> {
    return this.#ask({ kind: 'next' }) as Promise<EntryBatch | undefined>
  }

  /** Ends the thread, whatever it does. */
  async close(): Promise<void> {
    await this.#worker.terminate()
  }
}
