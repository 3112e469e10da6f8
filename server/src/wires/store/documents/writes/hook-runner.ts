import { ApiError, errors, invalid, type Issue } from '../../../../base/errors.ts'
import { boundedPointer } from '../../../../base/json-pointer.ts'
import { parseJson } from '../../../../base/json.ts'
import { Type } from '../../../../base/schema.ts'
import { within } from '../../../../base/within.ts'
import type { Step } from '../../../../db/database.ts'
import type { Caller } from '../../../../http/access.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import type { CollectionDefinition } from '../definition/collection.ts'
import type { Viewer } from '../definition/viewer.ts'
import { fieldsFrom, type Fields } from '../language/document-json.ts'
import type { HookCaller, Hooks } from '../definition/hooks.ts'
import type { SystemDocument, SystemDocuments } from '../definition/system-api.ts'

/** How long a hook before a write may take. */
const HOOK_LIMIT_MS = 5_000
/** How many writes of hooks may follow from each other. */
const DEPTH_MAX = 5

const AFTER = {
  create: 'afterCreate',
  update: 'afterUpdate',
  delete: 'afterDelete',
} as const satisfies Record<string, keyof Hooks>

/** A write that was done, for the hooks after it; the documents as JSON text. */
export type WriteEvent = {
  readonly action: keyof typeof AFTER
  readonly id: string
  readonly before?: string
  readonly after?: string
}

const Payload = Type.Object({
  collection: Type.String(),
  action: Type.Enum(['create', 'update', 'delete']),
  id: Type.String(),
  before: Type.Optional(Type.String()),
  after: Type.Optional(Type.String()),
  caller: Type.Optional(Type.Unknown()),
  depth: Type.Integer(),
})

/**
 * Runs the hooks of collections: those before a write at once, those after it as jobs.
 *
 * @param systemAt documents as the system writes them, so many hooks deep
 */
export function createHookRunner(
  { clock, jobs, log }: Pick<WireContext, 'clock' | 'jobs' | 'log'>,
  {
    collectionOf,
    systemAt,
  }: { collectionOf: (name: string) => CollectionDefinition; systemAt: (depth: number) => SystemDocuments },
) {
  const job = jobs.define('store.hooks', { payload: Payload }, async ({ payload }) => {
    const { collection, action, id, before, after, caller, depth } = payload
    const hook = collectionOf(collection).hooks[AFTER[action]] as AnyHook | undefined
    // The configuration has changed since.
    if (!hook) return
    await hook({
      collection,
      _id: id,
      caller: caller,
      documents: systemAt(depth + 1),
      ...(before !== undefined && { before: parseJson(before) }),
      ...(after !== undefined && { document: parseJson(after) }),
    })
  })

  /**
   * Runs a hook before a write.
   *
   * @param at where the fields are in the request
   * @returns the fields to store
   * @throws what the hook throws, or VALIDATION_ERROR if that is a bug and the schema refuses the fields; UNAVAILABLE after 5
   *   seconds
   */
  async function runBefore(
    definition: CollectionDefinition,
    name: 'beforeCreate' | 'beforeUpdate' | 'beforeDelete',
    viewer: Viewer,
    id: string,
    { next, before, filterIssues }: HookInput,
    at = '/body',
  ): Promise<Fields> {
    const { name: collection, hooks } = definition
    const hook = hooks[name] as AnyHook | undefined
    if (!hook) return next ?? {}
    // Copies: the two share what a change leaves as it is, and the index entries of the old document are told by `before`.
    const call = {
      collection,
      _id: id,
      caller: callerOf(viewer.caller),
      documents: systemAt(viewer.depth + 1),
      ...(before && { before: structuredClone(before) }),
      ...(next && { next: structuredClone(next) }),
    }
    const settled = Promise.try(hook, call).then(
      (answer) => ({ answer }),
      (error: unknown) => ({ error }),
    )
    const outcome = await within(HOOK_LIMIT_MS, () => settled, clock).catch((cause: unknown) => {
      log.error({ collection, hook: name, document: id }, 'a hook took longer than 5 s')
      throw errors.unavailable({
        message: `The hook ${name} of ${collection} took longer than 5 s: try again.`,
        cause,
      })
    })
    if ('error' in outcome) throw faultOf(outcome.error, definition, { next, filterIssues }, at)
    return next ? fieldsFrom(outcome.answer ?? call.next, `The hook ${name} of ${collection}`) : {}
  }

  return {
    runBefore,

    /** The steps that add the job of the hook after a write, for the batch that writes; none without one. */
    afterSteps({ name, hooks }: CollectionDefinition, viewer: Viewer, events: readonly WriteEvent[]): Step[] {
      return events
        .filter(({ action }) => hooks[AFTER[action]])
        .map((event) => {
          const caller = callerOf(viewer.caller)
          return job.enqueueSql({
            collection: name,
            ...event,
            ...(caller && { caller }),
            depth: viewer.depth,
          })
        })
    },
  }
}

export type HookRunner = ReturnType<typeof createHookRunner>

/** What a hook before a write gets, and what of the faults of its fields the caller may see. */
type HookInput = {
  readonly next?: Fields
  readonly before?: SystemDocument
  readonly filterIssues?: (issues: readonly Issue[]) => readonly Issue[]
}

type AnyHook = (call: Record<string, unknown>) => Fields | void | Promise<Fields | void>

/** A hook may rely on the schema, which is asked behind it: what it throws then is the fault of the fields. */
function faultOf(
  error: unknown,
  { validate, readOnly }: CollectionDefinition,
  { next, filterIssues }: HookInput,
  at: string,
): unknown {
  if (error instanceof ApiError || !validate || !next) return error
  // What the hook would have set itself.
  const missing = new Set(readOnly.map((path) => boundedPointer(at, path)))
  const issues = validate(next, at).filter(({ path }) => !missing.has(path))
  return issues.length > 0 ? invalid(...(filterIssues?.(issues) ?? issues)) : error
}

function callerOf(caller: Caller | undefined): HookCaller | undefined {
  if (caller?.kind !== 'user') return caller
  const { sessionId, ...others } = caller
  return others
}

/** @throws Error if hooks write in a circle */
export function checkHookDepth(depth: number): void {
  if (depth > DEPTH_MAX)
    throw new Error(
      `hooks write documents whose hooks write documents, ${DEPTH_MAX} deep: a hook must end this, for example by looking at what has changed`,
    )
}
