import mustache from 'mustache'

import { invalid, type Issue } from '../../base/errors.ts'
import { pointerTo } from '../../base/json-pointer.ts'

/** mustache.js, `Writer.parse`: kind, text or name, two places; a section's content is the fifth. */
type Token = readonly [kind: string, text: string, start: number, end: number, content?: readonly Token[]]

/** Values under their names, and the JSON pointer at which they stand. */
export type Frame = { readonly value: unknown; readonly at: string }

/** A template that was read and can be filled any number of times. */
export type Template = {
  /**
   * Puts values in. Names are looked for in the last frame first.
   *
   * @param escape what becomes of a value that is shown; `{{{name}}}` and `{{&name}}` go round it
   * @param lacking is given each value that is missing, or is none that can be shown
   */
  render(frames: readonly Frame[], escape: (text: string) => string, lacking: (issue: Issue) => void): string
}

// A list of many, each of which shows one long value, would be as long as both multiplied.
const CHARACTERS_MAX = 1_048_576
// Sections within sections multiply as well, and take time also where they show nothing.
const REPETITIONS_MAX = 10_000

/**
 * Reads a Mustache template (https://mustache.github.io/mustache.5.html). Only the reading is mustache.js's; filling
 * is done here, because its own takes a missing value for an empty one, calls functions and reads what objects
 * inherit. Here a name is an own property or it is missing. A missing value is an issue where it is shown, and false
 * where it is a section. There are no partials and no functions.
 *
 * @throws Error with mustache's sentence where the template is not well-formed, or has a partial
 */
export function readTemplate(text: string): Template {
  const writer = new mustache.Writer()
  const tokens = writer.parse(text) as readonly Token[]
  refusePartials(tokens)
  return {
    render(frames, escape, lacking) {
      let characters = 0
      let repetitions = 0

      /** @throws VALIDATION_ERROR where the mail gets too long with it */
      function bounded(text: string, at: string): string {
        characters += text.length
        if (characters > CHARACTERS_MAX)
          throw invalid({
            path: at,
            message: `with this the mail would have more than ${CHARACTERS_MAX} characters`,
          })
        return text
      }

      const section = (content: readonly Token[], frames: readonly Frame[]): string =>
        content.map((token) => piece(token, frames)).join('')

      function piece([kind, text, , , content = []]: Token, frames: readonly Frame[]): string {
        if (kind === 'text') return bounded(text, frames.at(-1)!.at)
        if (kind !== 'name' && kind !== '&' && kind !== '#' && kind !== '^') return ''
        const { value, at } = look(frames, text)
        if (typeof value === 'function') {
          lacking({ path: at, message: 'This can be text, a number, a list or an object.' })
          return ''
        }
        const isFalse = !value
        if (kind === '^')
          return isFalse || (Array.isArray(value) && value.length === 0) ? section(content, frames) : ''
        if (kind === '#') {
          if (isFalse) return ''
          const values: readonly unknown[] = Array.isArray(value) ? value : [value]
          repetitions += values.length
          if (repetitions > REPETITIONS_MAX)
            throw invalid({
              path: at,
              message: `with this the template would repeat its sections more than ${REPETITIONS_MAX} times`,
            })
          if (!Array.isArray(value)) return section(content, [...frames, { value, at }])
          return values
            .map((one, index) => section(content, [...frames, { value: one, at: `${at}/${index}` }]))
            .join('')
        }
        if (value === undefined || value === null) {
          lacking({ path: at, message: 'The template needs this.' })
          return ''
        }
        if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
          lacking({ path: at, message: 'The template shows this, so it is text or a number.' })
          return ''
        }
        return bounded(kind === '&' ? String(value) : escape(String(value)), at)
      }

      return section(tokens, frames)
    },
  }
}

function refusePartials(tokens: readonly Token[]): void {
  for (const [kind, name, , , content] of tokens) {
    if (kind === '>') throw new Error(`{{> ${name}}} can't be used: there are no partials`)
    if (kind === '#' || kind === '^') refusePartials(content ?? [])
  }
}

/** The value of a name, or of `.` for the innermost one; undefined where there is none, at the place for it. */
function look(frames: readonly Frame[], name: string): Frame {
  const innermost = frames.at(-1)!
  if (name === '.') return innermost
  const [first = '', ...steps] = name.split('.')
  // A section over text or a flag puts no names before those around it.
  const around = frames.findLast(({ value }) => own(value, first) !== undefined)
  const nearest =
    around ?? frames.findLast(({ value }) => typeof value === 'object' && value !== null) ?? innermost
  let { value, at } = nearest
  for (const step of [first, ...steps]) {
    value = own(value, step)
    at = pointerTo(at, step)
  }
  return { value, at }
}

const own = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined
