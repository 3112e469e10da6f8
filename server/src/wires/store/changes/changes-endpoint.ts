import { Type } from '../../../base/schema.ts'
import { endpoint } from '../../../http/route.ts'
import type { Caller } from '../../../http/access.ts'
import { countedFor } from '../../../http/limits.ts'
import type { Collections } from '../documents/definition/collections.ts'
import { AnsweredDocument, FieldsParameter } from '../documents/routes/request-schemas.ts'
import type { Cursors } from './cursor.ts'
import type { Feed } from './feed.ts'
import { followingOf } from './following.ts'
import type { Following } from './follower.ts'
import { resetReason, type LogEnd, type ResetReason } from './log.ts'
import { pollOf } from './poll.ts'
import { streamOf, type NewFollower } from './stream.ts'
import { parseWatches, type WatchParameters } from './watch-request.ts'

const Reset = Type.Enum(['expired', 'restored', 'changed'])

/** What happened to a document that is watched, or to the feed. */
const ChangeEvent = Type.Object(
  {
    event: Type.Enum(['put', 'gone', 'reset']),
    watch: Type.Optional(Type.Integer({ description: 'Which of the watches, from 0 on.' })),
    collection: Type.Optional(Type.String()),
    _id: Type.Optional(Type.String()),
    etag: Type.Optional(Type.String()),
    document: Type.Optional(AnsweredDocument),
    reason: Type.Optional(Reset),
  },
  { title: 'ChangeEvent' },
)

const Changes = Type.Object(
  { changes: Type.Array(ChangeEvent), cursor: Type.String({ description: 'For the next request.' }) },
  { title: 'Changes' },
)

export type ChangesContext = {
  readonly collections: Collections
  readonly cursors: Cursors
  readonly feed: Feed
}

/** `GET /store/changes` */
export const changesEndpoint = (context: ChangesContext) =>
  endpoint(
    {
      summary: 'Follow changes of documents',
      description:
        'Server-sent events, or with `Accept: application/json` one answer as soon as something has changed, at the latest after 25 seconds. `put`: the document is in the watch, as it is now. `gone`: it is not any more, for whatever reason. `reset`: list again. The id of the last event, as Last-Event-ID or cursor, goes on where it ended.',
      access: 'optional',
      stream: true,
      query: Type.Object(
        {
          collection: Type.Optional(Type.String({ examples: ['books'] })),
          filter: Type.Optional(Type.String({ description: 'As in lists.' })),
          fields: FieldsParameter,
          watch: Type.Optional(
            Type.String({
              description:
                'Several watches in place of collection, filter and fields, as JSON: up to 20 like {"collection":"books","filter":{},"fields":"title"}.',
            }),
          ),
          cursor: Type.Optional(
            Type.String({ description: 'The id of the last event, or the last cursor.' }),
          ),
        },
        { additionalProperties: false },
      ),
      headers: Type.Object({
        accept: Type.Optional(Type.String()),
        'last-event-id': Type.Optional(
          Type.String({ description: 'Likewise; it takes precedence over cursor.' }),
        ),
      }),
      reply: { 200: Changes },
    },
    async ({ query, headers, caller, ip }) => {
      const cursor = headers['last-event-id'] || query.cursor
      const begun = await begin(context, query, cursor, caller, countedFor({ caller, ip }))
      const isPoll = headers.accept?.includes('application/json') ?? false
      return isPoll ? pollOf(context.feed, begun, cursor !== undefined) : streamOf(context.feed, begun)
    },
  )

/** Where a caller begins to follow, and what. */
async function begin(
  { collections, cursors, feed }: ChangesContext,
  parameters: WatchParameters,
  cursor: string | undefined,
  caller: Caller | undefined,
  countedAs: string,
): Promise<NewFollower> {
  const last = cursor === undefined ? undefined : cursors.read(cursor)
  // Before the rights are read: what changes them from here on is seen.
  const end = await feed.enter()
  const bind = () => followingOf({ collections, cursors }, parseWatches(parameters, collections.get), caller)
  const { definitions } = feed
  const following = await bind()
  const reset = last && (await resetAt(last, following, feed))
  const { generation, position } = last && !reset ? last : end
  return { following, boundAt: position, definitions, caller: countedAs, bind, position, generation, reset }
}

/** Why a caller with a cursor has to list again. */
async function resetAt(
  { audience, generation, position }: LogEnd & { audience: string },
  following: Following,
  feed: Feed,
): Promise<ResetReason | undefined> {
  if (audience !== following.audience) return 'changed'
  return resetReason({ generation, position }, await feed.readLog(position))
}
