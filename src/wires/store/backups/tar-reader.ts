import { damaged } from './damaged.ts'

const BLOCK_BYTES = 512
const MAGIC = Buffer.from('ustar\x0000', 'latin1')
const SIZE_FIELD = { start: 124, length: 12 }
const CHECKSUM_FIELD = { start: 148, length: 8 }
const TYPE_AT = 156
const LINK_NAME = { start: 157, length: 100 }
const MAGIC_AT = 257
const PREFIX = { start: 345, length: 155 }
const NAME = { start: 0, length: 100 }
const REGULAR_FILE = 0x30
const BASE_256 = 0x80
const SPACE = 0x20
/** The record of a tar: 20 blocks. */
const FILLED_BYTES_MAX = 20 * BLOCK_BYTES

/** An entry of a tar. `pieces` must be read to its end before the next entry is asked for. */
export type TarEntry = { name: string; size: number; pieces: AsyncIterable<Buffer> }

/**
 * Reads the tar of an archive: regular files only, by the headers of POSIX.1-1988 (ustar), sizes from 8 GiB on in base
 * 256, as GNU tar and star write them. It is stricter than libraries for tars are, which skip what they do not know,
 * take links, and repair names: what Sixwire writes has none of that.
 *
 * @throws BACKUP_DAMAGED
 */
export async function* tarEntries(bytes: AsyncIterable<Buffer>): AsyncGenerator<TarEntry> {
  const source = pulled(bytes)
  for (;;) {
    const block = await source.exactly(BLOCK_BYTES)
    if (isZero(block)) break
    const { name, size } = headerOf(block)
    let left = size
    async function* pieces(): AsyncGenerator<Buffer> {
      while (left > 0) {
        const piece = await source.atMost(left)
        left -= piece.length
        yield piece
      }
    }
    yield { name, size, pieces: pieces() }
    if (left > 0) throw new Error(`the entry ${name} was not read to its end`)
    const padding = (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES
    if (!isZero(await source.exactly(padding))) throw damaged(name, 'bytes follow its end')
  }
  // The end is two blocks of zeros; some programs fill up to ten kilobytes.
  if (!isZero(await source.exactly(BLOCK_BYTES))) throw damaged('the archive', 'it has half an end')
  let filled = 0
  for (let piece = await source.next(); piece; piece = await source.next())
    if (!isZero(piece) || (filled += piece.length) > FILLED_BYTES_MAX)
      throw damaged('the archive', 'bytes follow its end')
}

function headerOf(block: Buffer): { name: string; size: number } {
  let sum = 0
  for (let at = 0; at < BLOCK_BYTES; at++)
    sum +=
      at >= CHECKSUM_FIELD.start && at < CHECKSUM_FIELD.start + CHECKSUM_FIELD.length ? SPACE : block[at]!
  const announced = octal(textOf(block, CHECKSUM_FIELD))
  if (sum !== announced || !block.subarray(MAGIC_AT, MAGIC_AT + MAGIC.length).equals(MAGIC))
    throw damaged('the archive', 'it holds something that is not an entry of a tar')
  const name = textOf(block, NAME)
  const place = JSON.stringify(name)
  if (block[TYPE_AT] !== REGULAR_FILE || textOf(block, LINK_NAME) !== '')
    throw damaged(place, 'it is not a regular file')
  if (textOf(block, PREFIX) !== '') throw damaged(place, 'its name has more parts than any of a backup')
  return { name, size: sizeOf(block, place) }
}

/** The text of a field up to its first NUL. */
function textOf(block: Buffer, { start, length }: { start: number; length: number }): string {
  const field = block.subarray(start, start + length)
  const end = field.indexOf(0)
  return field.toString('latin1', 0, end === -1 ? length : end)
}

const octal = (text: string): number | undefined =>
  /^[0-7]{1,12} ?$/.test(text) ? Number.parseInt(text, 8) : undefined

function sizeOf(block: Buffer, place: string): number {
  const { start, length } = SIZE_FIELD
  const size =
    block[start] === BASE_256
      ? Number(BigInt(`0x${block.toString('hex', start + 1, start + length)}`))
      : octal(textOf(block, SIZE_FIELD))
  if (size === undefined || !Number.isSafeInteger(size)) throw damaged(place, 'its header has no valid size')
  return size
}

const ZEROS = Buffer.alloc(65_536)

function isZero(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at += ZEROS.length) {
    const piece = bytes.subarray(at, at + ZEROS.length)
    if (!piece.equals(ZEROS.subarray(0, piece.length))) return false
  }
  return true
}

/** Reads bytes in the lengths that are asked for. */
function pulled(bytes: AsyncIterable<Buffer>) {
  const iterator = bytes[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)

  /** The next piece as it comes; undefined at the end. */
  async function next(): Promise<Buffer | undefined> {
    if (rest.length > 0) {
      const piece = rest
      rest = Buffer.alloc(0)
      return piece
    }
    for (;;) {
      const result = await iterator.next()
      if (result.done) return undefined
      if (result.value.length > 0) return result.value
    }
  }
  async function atMost(length: number): Promise<Buffer> {
    const piece = await next()
    if (!piece) throw damaged('the archive', 'it ends too early')
    rest = piece.subarray(length)
    return piece.subarray(0, length)
  }
  return {
    next,
    atMost,
    async exactly(length: number): Promise<Buffer> {
      const pieces: Buffer[] = []
      for (let left = length; left > 0;) {
        const piece = await atMost(left)
        pieces.push(piece)
        left -= piece.length
      }
      return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
    },
  }
}
