import { errors, invalid } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { json } from '../../../http/bodies.ts'
import { pageOf, PageQuery, PageReply } from '../../../http/page.ts'
import { endpoint } from '../../../http/route.ts'
import { JOB_STATES } from './job-list.ts'
import type { JobOperations, OperatedJob } from './job-operations.ts'
import { Time } from '../schemas.ts'

const Kind = Type.String({ maxLength: 200, examples: ['messaging.send'] })
const ErrorPart = Type.String({ maxLength: 1000, description: 'A part of the error, in any case.' })
const Params = Type.Object({ id: Type.String({ maxLength: 300, examples: ['01arz3ndektsv4rrffq69g5fav'] }) })

const JobFields = {
  _id: Type.String(),
  kind: Type.String({ examples: ['messaging.send'] }),
  state: Type.Enum(JOB_STATES, {
    description:
      'ready: it runs when it is due; waiting: an earlier job of its lane is not done; failed: for good, until it is retried or discarded.',
  }),
  lane: Type.Optional(Type.String({ description: 'Jobs of a kind and lane run one after the other.' })),
  attempts: Type.Integer(),
  attemptsMax: Type.Optional(
    Type.Integer({ description: 'After so many it fails for good. Absent: it is tried until it succeeds.' }),
  ),
  error: Type.Optional(Type.String({ description: 'Why the last attempt failed.' })),
  runAt: Type.Optional({ ...Time, description: 'When it is due. Of a job that is ready or waiting.' }),
  startedAt: Type.Optional({ ...Time, description: 'Since when it runs.' }),
  failedAt: Type.Optional({ ...Time, description: 'When it failed for good.' }),
  createdAt: Time,
  canRetry: Type.Boolean({ description: 'Whether it has failed and a wire of this server does it.' }),
  canDiscard: Type.Boolean({ description: 'Whether it may be deleted now.' }),
}

const Job = Type.Object(JobFields, { title: 'Job' })

const JobWithPayload = Type.Object(
  {
    ...JobFields,
    payload: Type.Optional(
      Type.Unknown({ description: 'What it works on. Service keys get it with the scope * only.' }),
    ),
  },
  { title: 'JobWithPayload' },
)

/** The endpoints of background jobs: what is under way, what failed, and what to do about it. */
export const jobEndpoints = (jobs: JobOperations) => ({
  list: endpoint(
    {
      summary: 'List background jobs',
      description: 'Those that are not done: failed ones first, then those that are due first.',
      access: 'operator',
      query: Type.Object({
        ...PageQuery,
        kind: Type.Optional(Kind),
        state: Type.Optional(Type.Enum(JOB_STATES)),
        error: Type.Optional(ErrorPart),
      }),
      reply: { 200: Type.Object({ jobs: Type.Array(Job), ...PageReply }, { title: 'JobPage' }) },
    },
    async ({ query: { kind, state, error, cursor, ...query } }) => {
      const { limit, offset, counts } = pageOf(query)
      if (offset > 0 && cursor !== undefined)
        throw invalid({ path: '/query/cursor', message: 'give either a cursor or an offset' })
      const filter = { kind, state, error }
      const [page, total] = await Promise.all([
        jobs.list(filter, { limit, offset, cursor }),
        counts ? jobs.count(filter) : undefined,
      ])
      return { ...page, jobs: page.jobs.map(replyOf), limit, offset, ...(total !== undefined && { total }) }
    },
  ),
  counts: endpoint(
    {
      summary: 'Count background jobs by kind and state',
      access: 'operator',
      reply: {
        200: Type.Object(
          {
            counts: Type.Array(
              Type.Object({ kind: Type.String(), state: Type.Enum(JOB_STATES), count: Type.Integer() }),
            ),
          },
          { title: 'JobCounts' },
        ),
      },
    },
    async () => ({ counts: await jobs.counts() }),
  ),
  get: endpoint(
    {
      summary: 'Get a background job with its payload',
      access: 'operator',
      // It may hold documents.
      sealed: true,
      params: Params,
      reply: { 200: JobWithPayload },
      errors: [errors.not_found],
    },
    async ({ params: { id }, caller }) => {
      const { payload, ...job } = await jobs.find(id)
      const mayRead = caller.kind === 'user' || caller.scopes.includes('*')
      return { ...replyOf({ ...job, payload: undefined }), ...(mayRead && { payload }) }
    },
  ),
  retry: endpoint(
    {
      summary: 'Retry a failed job',
      description: 'It has all its attempts again. In its lane it comes last.',
      access: 'operator',
      params: Params,
      reply: { 200: Job },
      errors: [errors.not_found, errors.conflict],
    },
    async ({ params: { id }, actor }) => replyOf(await jobs.retry(id, actor)),
  ),
  retryAll: endpoint(
    {
      summary: 'Retry all failed jobs that match',
      description: 'Except those of kinds that no wire of this server does.',
      access: 'operator',
      body: json(
        Type.Object(
          {
            filter: Type.Object(
              { kind: Type.Optional(Kind), error: Type.Optional(ErrorPart) },
              { title: 'FailedJobFilter' },
            ),
          },
          { title: 'RetryJobsRequest' },
        ),
      ),
      reply: { 200: Type.Object({ count: Type.Integer() }, { title: 'JobsRetried' }) },
      errors: [errors.not_found],
    },
    async ({ body: { filter }, actor }) => ({ count: await jobs.retryAll(filter, actor) }),
  ),
  discard: endpoint(
    {
      summary: 'Discard a job',
      description:
        'It is deleted, and its work will not be done. Not for a job that runs, or that the server needs.',
      access: 'operator',
      params: Params,
      reply: { 200: Type.Object({ message: Type.String() }, { title: 'JobDiscarded' }) },
      errors: [errors.not_found, errors.conflict],
    },
    async ({ params: { id }, actor }) => {
      await jobs.discard(id, actor)
      return { message: 'The job is discarded.' }
    },
  ),
})

const replyOf = ({
  id,
  kind,
  lane,
  state,
  attempts,
  attemptsMax,
  error,
  runAt,
  startedAt,
  ...job
}: OperatedJob) => ({
  _id: id,
  kind,
  state,
  ...(lane !== null && { lane }),
  attempts,
  ...(attemptsMax !== null && { attemptsMax }),
  ...(error !== null && { error }),
  ...((state === 'ready' || state === 'waiting') && { runAt }),
  ...(state === 'running' && startedAt !== null && { startedAt }),
  ...(state === 'failed' && { failedAt: runAt }),
  createdAt: job.createdAt,
  canRetry: job.canRetry,
  canDiscard: job.canDiscard,
})
