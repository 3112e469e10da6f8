import type { Plugin } from 'rolldown'

/**
 * Writes all characters beyond ASCII as `\u2026`. V8 keeps the text of a file in memory, in two bytes a character if a single
 * one is beyond Latin-1: 2 MB for nothing.
 */
export const ascii: Plugin = {
  name: 'ascii',
  generateBundle(_options, files) {
    for (const file of Object.values(files)) {
      if (file.type !== 'chunk') continue
      // A backslash before it, or the raw text of a template, would get another meaning.
      if (/\\[^\0-\x7f]|String\.raw`[^`]*[^\0-\x7f]/.test(file.code))
        throw new Error(`${file.fileName}: a character beyond ASCII can't be escaped`)
      file.code = file.code.replaceAll(
        /[^\0-\x7f]/g,
        (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
    }
  },
}
