import type { KeyCaller, UserCaller } from '../../../../http/access.ts'
import type { Fields } from '../language/document-json.ts'
import type { SystemDocument, SystemDocuments } from './system-api.ts'

/** Whose call it was. */
export type HookCaller = Omit<UserCaller, 'sessionId'> | KeyCaller

/** What every hook gets. */
export type HookCall = {
  readonly collection: string
  readonly _id: string
  /** Whose call it was; undefined for what the server does by itself: hooks, schedules, relations. */
  readonly caller: HookCaller | undefined
  /** Reads and writes as the system: rules do not concern it; schemas, unique fields and relations do. */
  readonly documents: SystemDocuments
}

type Answer = Fields | void

/**
 * Functions that run when documents are written. Those before a write get the fields that will be stored, `next`, and may
 * change them, return others, or throw an error of a table (`defineErrors`), which refuses the write. They run outside of
 * any transaction, have 5 seconds, and run again if the document was changed meanwhile. Those after it are jobs: they
 * run at least once, in any order.
 */
export type Hooks = {
  readonly beforeCreate?: (call: HookCall & { next: Fields }) => Answer | Promise<Answer>
  readonly beforeUpdate?: (
    call: HookCall & { readonly before: SystemDocument; next: Fields },
  ) => Answer | Promise<Answer>
  readonly beforeDelete?: (call: HookCall & { readonly before: SystemDocument }) => void | Promise<void>
  readonly afterCreate?: (call: HookCall & { readonly document: SystemDocument }) => void | Promise<void>
  readonly afterUpdate?: (
    call: HookCall & { readonly before: SystemDocument; readonly document: SystemDocument },
  ) => void | Promise<void>
  readonly afterDelete?: (call: HookCall & { readonly before: SystemDocument }) => void | Promise<void>
}

export const HOOK_NAMES = [
  'beforeCreate',
  'beforeUpdate',
  'beforeDelete',
  'afterCreate',
  'afterUpdate',
  'afterDelete',
] as const satisfies readonly (keyof Hooks)[]
