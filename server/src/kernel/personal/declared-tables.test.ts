import assert from 'node:assert/strict'
import { test } from 'node:test'

import { readCatalogue } from '../../db/catalogue.ts'
import { startApp } from '../../testing/app.ts'
import { eachEngine } from '../../testing/engines.ts'

/** Names of columns that have the id of an account, an address or a number of a person. */
const PERSONAL =
  /^(owner|account|user|user_id|person_id|actor_id|impersonator_id|caller|email|email_key|phone|recipient|to_number)$/

eachEngine((engine) => {
  test('each table with the id or the address of a person is declared as exported, erased or kept', async (t) => {
    const { app } = await startApp(t, engine)
    const declared = app.personalTables()
    const catalogue = await readCatalogue(app.db, app.db.dialect)
    // A release that adds such a table makes this fail until its wire declares it. The sandbox is for development.
    const forgotten = [...catalogue.values()].filter(
      ({ name, columns }) =>
        !name.startsWith('sandbox_') &&
        columns.some((column) => PERSONAL.test(column.name)) &&
        !declared[name],
    )
    assert.deepEqual(
      forgotten.map(({ name, columns }) => [name, columns.map((column) => column.name).join(', ')]),
      [],
    )
    for (const [name, table] of Object.entries(declared)) {
      const columns = catalogue.get(name)?.columns.map((column) => column.name)
      // Of SQLite only.
      if (!columns) assert.equal(name, 'auth_user_places')
      else if (!('isNobodys' in table)) {
        const { key = ['id'], exported, deletion, erase } = table
        const clears = typeof deletion === 'object' ? (deletion.clears ?? []) : []
        const written = typeof exported === 'object' ? Object.keys(exported) : []
        const isInParts = !erase && (deletion === 'erased' || clears.length > 0)
        const named = [...(isInParts || written.length > 0 ? key : []), ...written, ...clears]
        assert.deepEqual([name, named.filter((column) => !columns.includes(column))], [name, []])
      }
    }
  })
})
