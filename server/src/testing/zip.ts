import { inflateRawSync } from 'node:zlib'

const ENTRY = 0x02014b50

/** The files of a zip archive, by name, as its list in the end has them: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT */
export function readZip(archive: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  // Of archives that have no comment and few files.
  let at = archive.readUInt32LE(archive.length - 22 + 16)
  for (; archive.readUInt32LE(at) === ENTRY;) {
    const [method, size, nameLength] = [at + 10, at + 20, at + 28].map((place, i) =>
      i === 1 ? archive.readUInt32LE(place) : archive.readUInt16LE(place),
    ) as [number, number, number]
    const others = archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
    const start = archive.readUInt32LE(at + 42)
    const data = start + 30 + archive.readUInt16LE(start + 26) + archive.readUInt16LE(start + 28)
    const bytes = archive.subarray(data, data + size)
    files.set(
      archive.toString('utf8', at + 46, at + 46 + nameLength),
      method === 0 ? bytes : inflateRawSync(bytes),
    )
    at += 46 + nameLength + others
  }
  return files
}
