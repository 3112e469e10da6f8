import { errors } from '../../../base/errors.ts'
import { isoTime, type Clock } from '../../../base/clock.ts'
import { idPattern } from '../../../base/ids.ts'
import { Type } from '../../../base/schema.ts'
import type { Database } from '../../../db/database.ts'
import { CursorQuery, PageReply } from '../../../http/page.ts'
import { answer, Bytes, endpoint } from '../../../http/route.ts'
import type { PersonalData, PersonalExport } from '../../../kernel/wire/personal-data.ts'
import { personOf } from '../accounts/person.ts'
import { noAccount } from '../administration/account.ts'
import { requireAdministrator } from './administration/administrator.ts'
import { UserId } from './administration/user-schemas.ts'
import { Time } from './schemas.ts'

/** All tables are counted. */
const PREVIEW_LIMIT = { rate: '120/hour', name: 'auth-deletions' } as const
const LIMIT = { rate: '600/hour', name: 'auth-exports' } as const

const Records = {
  table: Type.String({ examples: ['store_documents'] }),
  about: Type.String({ description: 'What the records are.', examples: ['documents'] }),
  count: Type.Integer({ description: 'How many there are now.' }),
}
const Deletion = Type.Object(
  {
    erased: Type.Array(Type.Object(Records), {
      description: 'What is erased with the account, or soon after.',
    }),
    kept: Type.Array(Type.Object({ ...Records, reason: Type.String({ description: 'Why they stay.' }) }), {
      description: 'What stays, without an address or a name.',
    }),
  },
  { title: 'AccountDeletion' },
)

const Entry = Type.Object(
  {
    part: Type.String({
      description: 'Which part of a wire has it; wires of your own may have others.',
      examples: ['payments'],
    }),
    at: Time,
    text: Type.String({ examples: ['Payment of 12.30 EUR'] }),
    detail: Type.Optional(Type.String({ description: 'A subject, a reason, the text of a note.' })),
    state: Type.Optional(Type.String({ description: 'What became of it.', examples: ['completed'] })),
    by: Type.Optional(Type.String({ description: 'The id of who did it, if that is another one.' })),
    opens: Type.Optional(Type.String({ description: 'The screen of the console with the record.' })),
  },
  { title: 'TimelineEntry' },
)

const Running = Type.Object(
  { state: Type.Enum(['running']), createdAt: Time },
  { title: 'RunningPersonalExport' },
)
const Ready = Type.Object(
  {
    state: Type.Enum(['ready']),
    createdAt: Time,
    size: Type.Integer({ description: 'Of the archive, in bytes.' }),
    url: Type.String({ description: 'Opens the archive without a token, until `expiresAt`.' }),
    expiresAt: Time,
    deletedAt: Type.String({ format: 'date-time', description: 'When the archive is deleted.' }),
  },
  { title: 'PersonalExport' },
)
const ExportReply = { 200: Ready, 202: Running }

/** The endpoints of a person's own data: what there is, the export of it, and what a deletion does to it. */
export function personalEndpoints({
  db,
  clock,
  personalData,
}: {
  db: Database
  clock: Clock
  personalData: PersonalData
}) {
  async function deletionOf(id: string) {
    const person = await personOf(db, id, clock.now())
    if (!person) throw noAccount({ id })
    const { erased, kept } = await personalData.deletion(person)
    return { erased: [...erased], kept: [...kept] }
  }
  const description =
    'Begins the export if there is none and answers 202; repeat the call until it answers 200 with a link. Everything that all wires have of the account is in one zip archive, as JSON a line, and its files. A link works for 15 minutes without a token, and each call makes a new one; the archive is deleted a day later, and then a call begins the next export. Passwords, keys and codes are not in it.'

  return {
    deletion: endpoint(
      {
        summary: 'Preview the deletion of the signed-in user',
        description: 'What is erased with the account, and what stays and why.',
        access: 'session',
        limit: PREVIEW_LIMIT,
        reply: { 200: Deletion },
      },
      ({ caller }) => deletionOf(caller.id),
    ),
    export: endpoint(
      {
        summary: 'Export the data of the signed-in user',
        description,
        access: 'session',
        sealed: true,
        proof: 'recent',
        limit: LIMIT,
        reply: ExportReply,
        errors: [errors.unavailable],
      },
      async ({ caller, actor }) => replyOf(await personalData.export(caller.id, actor)),
    ),
    userDeletion: endpoint(
      {
        summary: 'Preview the deletion of a user',
        description: 'What is erased with the account, and what stays and why.',
        access: 'operator',
        limit: PREVIEW_LIMIT,
        params: UserId,
        reply: { 200: Deletion },
        errors: [errors.not_found],
      },
      ({ params: { id } }) => deletionOf(id),
    ),
    timeline: endpoint(
      {
        summary: 'Get the timeline of a user',
        description:
          'Newest first: sign-ins, payments and refunds, messages, documents, files, wallets, notes, and what the audit log has. Sessions that have ended and changes that are no longer logged are not in it. At most 100 entries a page. For administrators and viewers: it has the data of all wires.',
        access: 'operator',
        params: UserId,
        query: Type.Object(CursorQuery),
        reply: {
          200: Type.Object(
            { entries: Type.Array(Entry), nextCursor: PageReply.nextCursor },
            { title: 'UserTimeline' },
          ),
        },
        errors: [errors.not_found],
      },
      async ({ params: { id }, query: { cursor, limit }, caller }) => {
        const person = await personOf(db, id, clock.now())
        if (!person) throw noAccount({ id })
        requireAdministrator(caller)
        const { entries, ...rest } = await personalData.timeline(person, { cursor, limit })
        return { entries: entries.map(({ at, ...entry }) => ({ ...entry, at: isoTime(at) })), ...rest }
      },
    ),
    userExport: endpoint(
      {
        summary: 'Export the data of a user',
        description: `For administrators. ${description}`,
        access: 'operator',
        sealed: true,
        proof: 'recent',
        limit: LIMIT,
        params: UserId,
        reply: ExportReply,
        errors: [errors.not_found, errors.unavailable],
      },
      async ({ params: { id }, caller, actor }) => {
        if (!(await personOf(db, id, clock.now()))) throw noAccount({ id })
        // It has the data of all wires, which a key of this one may not read.
        requireAdministrator(caller)
        return replyOf(await personalData.export(id, actor))
      },
    ),
    open: endpoint(
      {
        summary: 'Download the archive of an export',
        description: 'By the link of `GET /auth/me/export`.',
        access: 'public',
        params: Type.Object({
          id: Type.String({
            pattern: idPattern,
            examples: ['01arz3ndektsv4rrffq69g5fav'],
            description: 'Of the export.',
          }),
        }),
        query: Type.Object({
          token: Type.String({
            maxLength: 100,
            examples: ['mrxk3c00.3Qd0y1zVb7c9n2mK4pLr8sTu6vWx5yZaBcDeFgHiJkM'],
            description: 'The token of the link.',
          }),
        }),
        reply: { 200: Bytes },
        errors: [errors.unauthorized, errors.not_found, errors.unavailable],
      },
      async ({ params: { id }, query: { token } }) => {
        const { bytes, size } = await personalData.openExport(id, token)
        return answer<Blob>(bytes, {
          headers: {
            'content-type': 'application/zip',
            'content-length': String(size),
            'content-disposition': `attachment; filename="personal-data-${id}.zip"`,
            'cache-control': 'no-store',
          },
        })
      },
    ),
  }
}

const replyOf = (of: PersonalExport) =>
  of.state === 'running'
    ? answer<{ state: 'running'; createdAt: string }>(
        { state: 'running', createdAt: isoTime(of.createdAt) },
        { status: 202, headers: { 'retry-after': '2' } },
      )
    : {
        state: of.state,
        createdAt: isoTime(of.createdAt),
        size: of.size,
        url: of.url,
        expiresAt: isoTime(of.expiresAt),
        deletedAt: isoTime(of.deletedAt),
      }
