/**
 * Turns text from outside into one line for a log or a database: well-formed, without control characters, and cut to
 * `max` characters, then with a `…` as its last one.
 *
 * @param max characters (UTF-16 code units)
 */
export function oneLine(text: string, max: number): string {
  const line = text
    .replaceAll(/[\s\0-\x1f\x7f-\x9f]+/g, ' ')
    .trim()
    .toWellFormed()
  return line.length > max ? `${line.slice(0, max - 1).toWellFormed()}…` : line
}
