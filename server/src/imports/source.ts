// What an import needs of another system. Each source reads one system, and knows nothing of how what it has is stored here.
import type { CollectionDeclaration, ImportRecord } from '../wires/store/index.ts'
import type { SourceFile } from './store-files.ts'

/** A sequence, however it is read. */
export type Sequence<T> = AsyncIterable<T> | Iterable<T>

/** An installation of another system, open to be read. Its sequences can be read again from their beginning. */
export type ImportSource = {
  /** In the order in which they are imported and declared. */
  readonly collections: readonly SourceCollection[]
  /** What of the installation does not come, or not as it was, and why: a line each. */
  readonly notes: readonly string[]
  /** Accounts, each as a line of `sixwire user import`, with a line for the parameters of Firebase before them. */
  readonly users?: { readonly count: number; read(): Sequence<object> }
  readonly files?: { readonly count: number; read(): Sequence<SourceFile> }
  close(): Promise<void> | void
}

/** A collection of another system, as it will be here. */
export type SourceCollection = {
  /** A name that `collectionNames` has given. */
  readonly name: string
  /** What Sixwire declares of it. What it does not say is as the policy has it. */
  readonly declaration: CollectionDeclaration
  /** What could not be declared, such as a rule: a line each, told and written above the declaration. */
  readonly notes: readonly string[]
  readonly count: number
  /**
   * Its documents: JSON with `_id`, `createdAt` and `updatedAt` as far as they are known, and `$owner`, the id of the account that
   * a document belongs to. One that cannot be read is an ApiError.
   *
   * @param addressOf the new address of a file by its `from`, which it is itself if the file could not be stored
   */
  read(addressOf: (from: string) => string): Sequence<ImportRecord>
}
