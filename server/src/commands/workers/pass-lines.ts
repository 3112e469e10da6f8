import type { Readable, Writable } from 'node:stream'

const NEWLINE = 0x0a

/** Writes what comes from a stream by whole lines, so that those of several streams never mix. The last one may have no end. */
export function passLines(from: Readable, to: Writable): void {
  let begun: Buffer[] = []
  from.on('data', (block: Buffer) => {
    const end = block.lastIndexOf(NEWLINE) + 1
    if (end === 0) return void begun.push(block)
    to.write(Buffer.concat([...begun, block.subarray(0, end)]))
    begun = end < block.length ? [block.subarray(end)] : []
  })
  from.on('end', () => {
    if (begun.length > 0) to.write(Buffer.concat([...begun, Buffer.from('\n')]))
  })
}
