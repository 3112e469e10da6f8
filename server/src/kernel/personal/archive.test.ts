import { test } from 'node:test'

import { openFresh } from '../../db/database.fixture.ts'
import type { Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import { eachEngine } from '../../testing/engines.ts'
import { until } from '../../testing/until.ts'
import { archiveOf } from './archive.ts'

eachEngine((engine) => {
  test('a reader that stops, such as a storage that fails, ends the snapshot of an archive', async () => {
    const db = await openFresh(engine, 'create table notes (id text primary key, text text not null);')
    const rows = JSON.stringify(Array.from({ length: 3_000 }, (_, n) => n))
    await db.write(
      sql`insert into notes ${sql.either({
        sqlite: sql`select value, hex(randomblob(500)) from json_each(${rows})`,
        postgres: sql`select value, (select string_agg(md5(value || n), '') from generate_series(1, 30) n) from json_array_elements_text(${rows}::json)`,
      })}`,
    )
    let open = 0
    const counted: Pick<Database, 'snapshot'> = {
      async snapshot(read) {
        open++
        return db.snapshot(read).finally(() => open--)
      },
    }
    const notes = {
      about: 'notes',
      rows: () => sql`1 = 1`,
      exported: { id: 'value', text: 'value' },
      deletion: 'erased',
    } as const
    const person = { id: 'one', emails: [], phones: [], until: 0 }
    const tables = [{ name: 'notes', table: notes }]
    const reading = archiveOf(counted, { tables, person, title: 'test', at: 'now' })
    do await reading.next()
    while (open === 0)
    await reading.return(undefined)
    await until(() => open === 0)
    await db.close()
  })
})
