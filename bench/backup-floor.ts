// The least that a backup of a SQLite file can be: its rows, compressed and flushed. Prints how long it took.
import { open } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress } from 'node:zlib'

const PIECE_CHARACTERS = 131_072
const [database = '', target = ''] = process.argv.slice(2)
const db = new DatabaseSync(database, { readOnly: true })

function* pieces(): Generator<Buffer> {
  const rows = db.prepare('select body from store_documents order by collection, id')
  rows.setReturnArrays(true)
  let piece = ''
  for (const [body] of rows.iterate() as Iterable<unknown> as Iterable<[string]>) {
    piece += `${body}\n`
    if (piece.length < PIECE_CHARACTERS) continue
    yield Buffer.from(piece)
    piece = ''
  }
  yield Buffer.from(piece)
}

const begun = performance.now()
const file = await open(target, 'w')
// As src/wires/store/backups/archive-writer.ts does it.
const zstd = createZstdCompress({
  chunkSize: PIECE_CHARACTERS,
  params: { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_checksumFlag]: 1 },
})
await pipeline(Readable.from(pieces(), { objectMode: true }), zstd, file.createWriteStream({ flush: true }))
console.log((performance.now() - begun) / 1000)
db.close()
