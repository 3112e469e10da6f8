import { errors } from '../../../../base/errors.ts'
import { Type } from '../../../../base/schema.ts'
import { json } from '../../../../http/bodies.ts'
import { CursorQuery, pageOf, PageReply } from '../../../../http/page.ts'
import { endpoint } from '../../../../http/route.ts'
import type { Notes } from '../../administration/notes.ts'
import { Message, Time } from '../schemas.ts'
import { UserId } from './user-schemas.ts'

const TEXT_MAX = 5_000

const Note = Type.Object(
  {
    _id: Type.String(),
    text: Type.String(),
    author: Type.Optional(
      Type.String({ description: 'The id of the account or service key that wrote it.' }),
    ),
    createdAt: Time,
  },
  { title: 'StaffNote' },
)

/** The endpoints of what the staff writes down about users. */
export const noteEndpoints = ({ notes }: { notes: Notes }) => ({
  list: endpoint(
    {
      summary: 'List the notes about a user, newest first',
      description: 'The user sees none of them, but the export of the user’s data has them.',
      access: 'operator',
      params: UserId,
      query: Type.Object(CursorQuery),
      reply: {
        200: Type.Object(
          { notes: Type.Array(Note), limit: PageReply.limit, nextCursor: PageReply.nextCursor },
          { title: 'StaffNotePage' },
        ),
      },
      errors: [errors.not_found],
    },
    async ({ params: { id }, query }) => {
      const page = pageOf({ ...query, offset: 0 })
      return { ...(await notes.list(id, page)), limit: page.limit }
    },
  ),
  create: endpoint(
    {
      summary: 'Create a note about a user',
      access: 'operator',
      idempotent: true,
      params: UserId,
      body: json(
        Type.Object(
          {
            text: Type.String({
              maxLength: TEXT_MAX,
              pattern: '\\S',
              description: 'What the staff should know of this user.',
              examples: ['Called about order-1042: wants it sent to the new address.'],
            }),
          },
          { title: 'CreateNoteRequest' },
        ),
      ),
      reply: { 201: Note },
      errors: [errors.not_found],
    },
    ({ params: { id }, body: { text }, recordId, actor }) => notes.create(id, { id: recordId, text }, actor),
  ),
  remove: endpoint(
    {
      summary: 'Delete a note about a user',
      access: 'operator',
      params: Type.Object({
        ...UserId.properties,
        noteId: Type.String({ examples: ['01arz3ndektsv4rrffq69g5fav'] }),
      }),
      reply: { 200: Message },
      errors: [errors.not_found],
    },
    async ({ params: { id, noteId }, actor }) => {
      await notes.remove(id, noteId, actor)
      return { message: 'The note is deleted.' }
    },
  ),
})
