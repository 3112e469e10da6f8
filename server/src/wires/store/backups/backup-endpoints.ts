import { Type } from '../../../base/schema.ts'
import type { Static } from 'typebox'

import type { Clock } from '../../../base/clock.ts'
import { errors } from '../../../base/errors.ts'
import { idPattern } from '../../../base/ids.ts'
import { pageOf, PageQuery, PageReply } from '../../../http/page.ts'
import { answer, Bytes, NoBody, endpoint } from '../../../http/route.ts'
import { storeErrors } from '../errors.ts'
import { answerContent } from '../files/content/file-content.ts'
import { ContentHeaders } from '../files/content/content-endpoints.ts'
import type { Backups } from './backups.ts'

/** What an answer waits for a backup. */
const ANSWER_MS = 10_000

/** What a service key needs to make and fetch backups, without the rights to the whole wire. */
export const BACKUP_SCOPE = 'store:backup'

const Timestamp = (description: string) => Type.String({ format: 'date-time', description })
const AtEnd = (description: string) =>
  Type.Optional(Type.Integer({ description: `${description} Absent until it is completed.` }))

export const Backup = Type.Object(
  {
    _id: Type.String({ examples: ['01arz3ndektsv4rrffq69g5fav'] }),
    status: Type.Enum(['running', 'completed', 'failed']),
    kind: Type.Enum(['manual', 'scheduled', 'safety'], {
      description: 'A safety backup is made by a restore, of what it replaces.',
    }),
    size: AtEnd('Of the archive, in bytes.'),
    sha256: Type.Optional(
      Type.String({ description: 'Of the archive, in hex. Absent until it is completed.' }),
    ),
    collections: AtEnd('How many collections it holds.'),
    documents: AtEnd('How many documents it holds.'),
    files: AtEnd('How many files it holds.'),
    createdAt: Timestamp('When it began.'),
    completedAt: Type.Optional(Timestamp('When it was completed or failed.')),
    progress: Type.Optional(
      Type.Object(
        { done: Type.Integer(), total: Type.Integer() },
        {
          description:
            'How far a running one is, in bytes of what it saves. Written every 5 seconds; absent before.',
        },
      ),
    ),
    error: Type.Optional(Type.String({ description: 'Why it failed.' })),
    warning: Type.Optional(
      Type.String({
        description: 'The files that a safety backup does not hold, because their bytes are missing.',
      }),
    ),
  },
  { title: 'Backup' },
)
type Backup = Static<typeof Backup>

export const OneBackup = Type.Object({
  id: Type.String({
    pattern: idPattern,
    description: 'The _id of the backup.',
    examples: ['01arz3ndektsv4rrffq69g5fav'],
  }),
})

/** Of what writes or reads an archive whole, for each user. */
export const LIMIT = { rate: '12/hour', name: 'backups' } as const

export function backupEndpoints({ backups, clock }: { backups: Backups; clock: Clock }) {
  return {
    create: endpoint(
      {
        summary: 'Create a backup',
        description:
          'An archive of all documents and files, as they are at one moment, while writes go on. If it takes longer than 10 seconds, the answer is 202, and GET /store/backups/:id tells how it ends.',
        access: 'admin',
        limit: LIMIT,
        scope: BACKUP_SCOPE,
        idempotent: true,
        reply: { 201: Backup, 202: Backup },
        errors: [errors.conflict, errors.internal_error, errors.unavailable],
      },
      async ({ recordId, actor }) => {
        const { id, done } = await backups.create('manual', { id: recordId, actor })
        const ended = new AbortController()
        const late = clock.sleep(ANSWER_MS, { signal: ended.signal }).then(() => backups.get(id))
        // Its errors are those of `done` then.
        late.catch(() => undefined)
        try {
          const backup = await Promise.race([done, late])
          return answer<Backup>(backup, {
            status: backup.status === 'running' ? 202 : 201,
            headers: { location: `/store/backups/${id}` },
          })
        } finally {
          ended.abort()
        }
      },
    ),
    list: endpoint(
      {
        summary: 'List backups',
        description: 'Newest first.',
        access: 'admin',
        scope: BACKUP_SCOPE,
        query: Type.Object(PageQuery),
        reply: { 200: Type.Object({ backups: Type.Array(Backup), ...PageReply }, { title: 'BackupPage' }) },
      },
      async ({ query }) => {
        const page = pageOf(query)
        return { ...(await backups.list(page)), limit: page.limit, offset: page.offset }
      },
    ),
    get: endpoint(
      {
        summary: 'Get a backup',
        access: 'admin',
        scope: BACKUP_SCOPE,
        params: OneBackup,
        reply: { 200: Backup },
        errors: [errors.not_found],
      },
      ({ params: { id } }) => backups.get(id),
    ),
    download: endpoint(
      {
        summary: 'Download the archive of a backup',
        description:
          'A tar, compressed by zstd: tar --zstd -xf opens it. Supports ranges and conditional requests. It holds what the rules of collections keep from others, so it is for administrators and service keys under each policy.',
        access: 'operator',
        sealed: true,
        scope: BACKUP_SCOPE,
        params: OneBackup,
        headers: ContentHeaders,
        reply: { 200: Bytes, 206: Bytes, 304: NoBody },
        errors: [
          errors.not_found,
          errors.conflict,
          errors.precondition_failed,
          storeErrors.range_not_satisfiable,
          errors.unavailable,
        ],
      },
      async ({ params: { id }, headers, isHead, actor, log }) => {
        const archive = await backups.archive(id)
        if (!isHead) await backups.recordDownload(id, actor)
        return answerContent(archive, { headers, isHead, isDownload: true, log: () => log })
      },
    ),
    remove: endpoint(
      {
        summary: 'Delete a backup',
        description:
          'With its archive. In production, and under the policy guarded, administrators and service keys only.',
        access: 'admin',
        irreversible: true,
        scope: BACKUP_SCOPE,
        params: OneBackup,
        reply: { 200: Type.Object({ message: Type.String() }, { title: 'Confirmation' }) },
        errors: [errors.not_found, errors.conflict],
      },
      async ({ params: { id }, actor }) => {
        await backups.remove(id, actor)
        return { message: `The backup ${id} is deleted.` }
      },
    ),
  }
}
