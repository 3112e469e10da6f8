import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'

import { deriveKey, keyOf } from '../../../base/crypto.ts'
import { allRows } from '../../../base/row-filter.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { startApp } from '../../../testing/app.ts'
import { someEngine } from '../../../testing/engines.ts'

const HASH = `0x${'5a'.repeat(32)}` as const

/** How a key could be written: every form in which a beginning or an end of it would be recognised. */
function formsOf(key: Buffer): Record<string, string> {
  const hex = key.toString('hex')
  const decimal = BigInt(`0x${hex}`).toString()
  return {
    'the beginning in hex': hex.slice(0, 16),
    'the end in hex': hex.slice(-16),
    'a buffer as the console shows it': hex.slice(0, 16).replaceAll(/(..)(?=.)/g, '$1 '),
    'decimal, the beginning': decimal.slice(0, 16),
    'decimal, the end': decimal.slice(-16),
    base64: key.toString('base64').slice(0, 20),
    base64url: key.toString('base64url').slice(0, 20),
    'the hex in base64': Buffer.from(hex).toString('base64').slice(0, 20),
    'the hex with 0x in base64': Buffer.from(`0x${hex}`).toString('base64').slice(0, 20),
    'a list of bytes': [...key.subarray(0, 8)].join(','),
    'a list of bytes with spaces': [...key.subarray(0, 8)].join(', '),
    bytes: key.subarray(0, 8).toString('latin1'),
    'the last bytes': key.subarray(-8).toString('latin1'),
  }
}

const isCased = (form: string): boolean => /base64|bytes/.test(form)

function assertAbsent(where: string, text: string, keys: ReadonlyMap<string, Buffer>): void {
  const lower = text.toLowerCase()
  for (const [whose, key] of keys)
    for (const [form, part] of Object.entries(formsOf(key)))
      assert.ok(!(isCased(form) ? text : lower).includes(part), `${where} shows ${whose}: ${form}`)
}

/** Every column of every table. */
async function everything(db: Database): Promise<Map<string, string>> {
  const tables = await db.all<{ name: string }>(
    db.dialect === 'sqlite'
      ? sql`select name from sqlite_master where type = 'table'`
      : sql`select table_name as name from information_schema.tables where table_schema = 'public'`,
  )
  const dump = new Map<string, string>()
  for (const { name } of tables)
    dump.set(name, JSON.stringify(await db.all(sql`select * from ${sql.literal(`"${name}"`)}`)))
  return dump
}

test('a key would be found in any of its forms', () => {
  const key = randomBytes(32)
  const keys = new Map([['a key', key]])
  for (const part of Object.values(formsOf(key)))
    assert.throws(() => assertAbsent('a text', `before${part}after`, keys))
  assert.throws(() => assertAbsent('a text', inspect(key), keys))
  assert.throws(() => assertAbsent('a text', key.toString('hex').toUpperCase(), keys))
  assertAbsent('a text', randomBytes(32).toString('hex'), keys)
})

someEngine((engine) => {
  test('no private key is in an answer, an error, a log line at any level, or the database', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const server = await startApp(t, engine, { databaseUrl })
    const { db, settings } = server.app
    const { wallets } = server.app.service('onchain')
    const { token } = await server.register()
    const seen: [where: string, text: string][] = []
    const send = async (path: string, options: Parameters<typeof server.request>[2]) => {
      const answered = await server.request('POST', path, { token, ...options })
      seen.push([`the answer of ${path}`, `${JSON.stringify([...answered.headers])}${answered.text}`])
      return answered
    }
    const keys = new Map<string, Buffer>()
    const newKey = (whose: string): string => {
      const key = randomBytes(32)
      keys.set(whose, key)
      return key.toString('hex')
    }
    const importKey = (privateKey: unknown, headers: Record<string, string> = {}) =>
      send('/onchain/wallets/import', { body: { privateKey, name: 'old' }, headers })

    // What works, and is repeated.
    const created = (await send('/onchain/wallets', { body: { name: 'new' } })).body
    const imported = newKey('an imported key')
    for (const headers of [{ 'idempotency-key': 'import' }, { 'idempotency-key': 'import' }, {}])
      await importKey(`0x${imported}`, headers as Record<string, string>)

    // What is refused: each is a good key with a slip.
    await importKey(newKey('a key without 0x'))
    await importKey(`0X${newKey('a key after 0X').toUpperCase()}`)
    await importKey(`0x${newKey('a key with a byte more')}00`)
    await importKey(`0x${newKey('a key with a space')} `)
    await importKey(`0x${newKey('a key with a digit replaced').slice(0, -1)}O`)
    await importKey([`0x${newKey('a key in a list')}`])
    await importKey({ hex: `0x${newKey('a key in an object')}` })
    await importKey(BigInt(`0x${newKey('a key in decimal')}`).toString())
    await importKey(Buffer.from(newKey('a key in base64'), 'hex').toString('base64'))
    await importKey(`0x${newKey('a key, and a megabyte').padEnd(1_000_000, '0')}`)
    const path = '/onchain/wallets/import'
    await send(path, { raw: `{"privateKey":"0x${newKey('a key in broken JSON')}"` })
    await send(path, { raw: `{"0x${newKey('a key as a field')}":1,"privateKey":2}` })
    await send(path, {
      raw: `privateKey=0x${newKey('a key in a form')}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    await send(path, { body: { privateKey: `0x${newKey('a stranger’s key')}` }, token: undefined })
    await send(path, { body: { privateKey: `0x${newKey('a key with a bad name')}`, name: 7 } })
    await send('/onchain/wallets', {
      body: { name: 'x', privateKey: `0x${newKey('a key that is not asked for')}` },
    })

    // The keys that were created here, as the server reads them.
    const dataKey = await db.get<{ ciphertext: string }>(sql`select ciphertext from onchain_data_keys`)
    const dataBytes = Buffer.from(
      deriveKey(settings.secret, 'onchain-data-key').open(dataKey!.ciphertext),
      'base64url',
    )
    keys.set('the data key', dataBytes)
    const row = await db.get<{ address: string; key_reference: string }>(
      sql`select address, key_reference from onchain_wallets where id = ${created._id}`,
    )
    const sealed = row!.key_reference.replace(/^\d+\./, '')
    keys.set('a created key', keyOf(Buffer.from(dataBytes)).openBytes(sealed, row!.address.toLowerCase()))

    // Faults: of the database while a wallet is stored, and of a row while it signs.
    const signer = await wallets.signerOf(created._id, allRows)
    seen.push(['a signature', inspect(await signer.sign(HASH, 1_000), { depth: 9 })])
    await db.write(
      sql`update onchain_wallets set key_reference = '1.AAAA' || key_reference where id <> ${created._id}`,
    )
    const other = await wallets.signerAt(
      (await wallets.list(allRows, {}, { limit: 1, offset: 0, before: undefined })).wallets[0]!.address,
    )
    seen.push(['a signature of a changed row', inspect(await other!.sign(HASH, 1_000), { depth: 9 })])
    await db.write(sql`alter table onchain_wallets rename to onchain_wallets_away`)
    const failed = await importKey(`0x${newKey('a key that could not be stored')}`)
    assert.equal(failed.status, 500)
    assert.equal((await send('/onchain/wallets', { body: {} })).status, 500)
    await wallets
      .import({ id: 'x', owner: 'ada' }, `0x${newKey('a key of a service call')}`)
      .catch((error: unknown) => seen.push(['an error', inspect(error, { depth: 9, showHidden: true })]))
    await db.write(sql`alter table onchain_wallets_away rename to onchain_wallets`)

    for (const [where, text] of seen) assertAbsent(where, text, keys)
    for (const [table, text] of await everything(db)) assertAbsent(`the table ${table}`, text, keys)
    assertAbsent('the log', server.log(), keys)
    assert.match(server.log(), /onchain/)
    await server.stop()
    if (engine.name === 'sqlite') {
      const folder = dirname(databaseUrl.replace('sqlite:', ''))
      for (const name of await readdir(folder))
        assertAbsent(`the file ${name}`, await readFile(join(folder, name), 'latin1'), keys)
    }
  })
})
