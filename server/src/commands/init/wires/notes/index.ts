import { defineWire, json, route, sql, Type } from 'sixwire'

const Note = Type.Object(
  { id: Type.String(), text: Type.String(), createdAt: Type.String({ format: 'date-time' }) },
  { title: 'Note' },
)
const NewNote = Type.Object({ text: Type.String({ minLength: 1, maxLength: 2_000, examples: ['Buy milk'] }) })

type Row = { id: string; text: string; created_at: number }

const noteOf = ({ id, text, created_at }: Row) => ({
  id,
  text,
  createdAt: new Date(created_at).toISOString(),
})

/** Notes that users write for themselves. */
export const notes = defineWire({
  name: 'notes',
  description: 'Notes that users write for themselves.',
  migrations: new URL('./migrations/', import.meta.url),
  setup: ({ db, clock }) => ({
    routes: [
      route(
        'POST /notes',
        {
          summary: 'Create a note',
          access: 'session',
          idempotent: true,
          body: json(NewNote),
          reply: { 201: Note },
        },
        async ({ caller, body, recordId }) => {
          // A call that is repeated with its Idempotency-Key has the same recordId.
          const [row] = await db.write(sql<Row>`
            insert into notes (id, owner, text, created_at)
            values (${recordId}, ${caller.id}, ${body.text}, ${clock.now()})
            on conflict (id) do update set id = excluded.id returning id, text, created_at`)
          return noteOf(row!)
        },
      ),
      route(
        'GET /notes',
        {
          summary: 'List your notes, newest first',
          access: 'session',
          reply: { 200: Type.Object({ notes: Type.Array(Note) }) },
        },
        async ({ caller }) => {
          const rows = await db.all(sql<Row>`
            select id, text, created_at from notes
            where owner = ${caller.id} order by created_at desc, id desc limit 100`)
          return { notes: rows.map(noteOf) }
        },
      ),
    ] as const,
    service: undefined,
  }),
})
