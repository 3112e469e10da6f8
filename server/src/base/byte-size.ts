const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 2 ** 10,
  mb: 2 ** 20,
  gb: 2 ** 30,
  tb: 2 ** 40,
}

/** A number of bytes as an option: `52428800`, `50MB`, `1.5 GB`. A KB is 1,024 bytes. */
export const BYTE_SIZE = '^\\d{1,15}(\\.\\d{1,3})? ?([kKmMgGtT]?[bB])?$'

/** @param size text that matches `BYTE_SIZE` */
export function bytesOf(size: string): number {
  const [, number = '', unit = ''] = /^([\d.]+) ?([a-z]*)$/.exec(size.toLowerCase()) ?? []
  return Math.floor(Number(number) * UNITS[unit]!)
}
