import type { Clock } from '../../../../base/clock.ts'
import { errors, type ApiError } from '../../../../base/errors.ts'
import type { KeyedMutex } from '../../../../base/keyed-mutex.ts'
import type { Step } from '../../../../db/database.ts'
import type { CollectionDefinition } from '../definition/collection.ts'
import type { Collections } from '../definition/collections.ts'
import type { Viewer } from '../definition/viewer.ts'
import type { CheckFiles } from '../file-fields/check-files.ts'
import type { Documents } from '../storage/documents.ts'
import type { HookRunner, WriteEvent } from './hook-runner.ts'
import type { OtherSteps } from '../storage/indexes/index-upkeep.ts'
import type { Quota } from '../../quota.ts'
import type { DeletionContext } from './relations/relation-deletion.ts'

/** What documents are written with. */
export type WriteContext = {
  readonly clock: Clock
  readonly collections: Collections
  readonly documents: Documents
  readonly hooks: HookRunner
  readonly deletions: DeletionContext
  readonly checkFiles: CheckFiles
  readonly quota: Quota
  /** Concurrent changes to one document would make each other start again. */
  readonly mutex: KeyedMutex
}

/** How often a change begins again because the document was changed meanwhile. */
export const UPDATE_TRIES = 100

export const tooManyUpdates = (id: string): ApiError =>
  errors.unavailable({ message: `Too many concurrent updates of document ${id}: try again.`, retryAfter: 1 })

/** Steps around a write, in its batch: what it depends on, and the hooks behind it; undefined if there are none. */
export function stepsAround(
  { hooks }: WriteContext,
  collection: CollectionDefinition,
  viewer: Viewer,
  first: readonly Step[],
  events: readonly WriteEvent[],
): OtherSteps | undefined {
  const last = hooks.afterSteps(collection, viewer, events)
  return first.length + last.length > 0 ? { first, last } : undefined
}
