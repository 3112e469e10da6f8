import mustache from 'mustache'

import { invalid, type Issue } from '../../../base/errors.ts'
import { pointerTo } from '../../../base/json-pointer.ts'

/** A token of `Writer.parse` of mustache.js: kind, text or name, start, end, and the content of a section. */
type Token = readonly [kind: string, text: string, start: number, end: number, content?: readonly Token[]]

/** Values by name, and their JSON pointer. */
export type Frame = { readonly value: unknown; readonly at: string }

/**
 * A name that a template uses, `code.digits` for one of a section or with a dot. What is shown outside of every section is
 * required.
 */
export type TemplateValue = { readonly name: string; readonly isRequired: boolean }

/** A parsed template, which can be rendered any number of times. */
export type Template = {
  /** The names that it uses, in their order, without those of values within lists. */
  readonly values: readonly TemplateValue[]
  /**
   * Renders the template. Names are looked up in the last frame first.
   *
   * @param escape is applied to each value that is shown, except by `{{{name}}}` and `{{&name}}`
   * @param addIssue is called with each value that is missing or cannot be shown
   * @throws VALIDATION_ERROR if the result is too long, or sections are repeated too often
   */
  render(frames: readonly Frame[], escape: (text: string) => string, addIssue: (issue: Issue) => void): string
}

// A long list in which each entry shows a long value would be as long as both multiplied.
const CHARACTERS_MAX = 1_048_576
// Nested sections multiply as well, and take time even if they show nothing.
const REPETITIONS_MAX = 10_000
// So does a long template within one: each piece is a lookup in all sections around it.
const PIECES_MAX = 500_000
const DEPTH_MAX = 50
const NAME_MAX = 200

/**
 * Parses a Mustache template (https://mustache.github.io/mustache.5.html). mustache.js only parses; rendering is done
 * here, because its renderer shows nothing for a missing value, calls functions and reads inherited properties. Here a
 * name is an own property, or it is missing. A missing value is an issue if it is shown, and false as a section. There
 * are no partials and no functions.
 *
 * @throws Error with the message of mustache.js if the template is malformed, if it has a partial, or sections too deep in others
 */
export function readTemplate(text: string): Template {
  const writer = new mustache.Writer()
  const tokens = writer.parse(text) as readonly Token[]
  checkTokens(tokens)
  return {
    values: valuesOf(tokens),
    render(frames, escape, addIssue) {
      let characters = 0
      let repetitions = 0
      let pieces = 0

      /** @throws VALIDATION_ERROR if the email is too long with this text */
      function checkLength(text: string, at: string): string {
        characters += text.length
        if (characters > CHARACTERS_MAX)
          throw invalid({
            path: at,
            message: `with this value the email would have more than ${CHARACTERS_MAX} characters`,
          })
        return text
      }

      function section(content: readonly Token[], frames: readonly Frame[]): string {
        pieces += content.length
        if (pieces > PIECES_MAX)
          throw invalid({
            path: frames.at(-1)!.at,
            message: `with this value the template would show more than ${PIECES_MAX} pieces`,
          })
        return content.map((token) => piece(token, frames)).join('')
      }

      function piece([kind, text, , , content = []]: Token, frames: readonly Frame[]): string {
        if (kind === 'text') return checkLength(text, frames.at(-1)!.at)
        if (kind !== 'name' && kind !== '&' && kind !== '#' && kind !== '^') return ''
        const { value, at } = resolveName(frames, text)
        if (typeof value === 'function') {
          addIssue({ path: at, message: 'This must be text, a number, a boolean, a list or an object.' })
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
              message: `with this value the template would repeat its sections more than ${REPETITIONS_MAX} times`,
            })
          if (!Array.isArray(value)) return section(content, [...frames, { value, at }])
          return values
            .map((one, index) => section(content, [...frames, { value: one, at: `${at}/${index}` }]))
            .join('')
        }
        if (value === undefined || value === null) {
          addIssue({ path: at, message: 'The template needs this value.' })
          return ''
        }
        if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
          addIssue({
            path: at,
            message: 'The template shows this value, so it must be text, a number or a boolean.',
          })
          return ''
        }
        return checkLength(kind === '&' ? String(value) : escape(String(value)), at)
      }

      return section(tokens, frames)
    },
  }
}

function checkTokens(tokens: readonly Token[], depth = 0): void {
  if (depth > DEPTH_MAX) throw new Error(`sections are within more than ${DEPTH_MAX} others`)
  for (const [kind, name, , , content] of tokens) {
    if (kind !== 'text' && kind !== '!' && name.length > NAME_MAX)
      throw new Error(`${name.slice(0, 20)}… is longer than ${NAME_MAX} characters`)
    if (kind === '>') throw new Error(`{{> ${name}}} is a partial: partials are not supported`)
    if (kind === '#' || kind === '^') checkTokens(content ?? [], depth + 1)
  }
}

/** The names that tokens use, each once; `.` is the name of the section around it. */
function valuesOf(tokens: readonly Token[]): TemplateValue[] {
  const values = new Map<string, boolean>()
  const add = (tokens: readonly Token[], path: readonly string[], isOptional: boolean): void => {
    for (const [kind, text, , , content = []] of tokens) {
      const isShown = kind === 'name' || kind === '&'
      if (!isShown && kind !== '#' && kind !== '^') continue
      const steps = text === '.' ? path : [...path, text]
      const name = steps.join('.')
      if (isShown) values.set(name, (values.get(name) ?? false) || !isOptional)
      else if (content.length === 0 || kind === '^') values.set(name, values.get(name) ?? false)
      // A section of text shows names of the frames around it: what it shows is not always below it.
      add(content, kind === '#' && !showsItself(text, content) ? steps : path, true)
    }
  }
  add(tokens, [], false)
  return Array.from(values, ([name, isRequired]) => ({ name, isRequired }))
}

/** Whether a section shows its own name: `{{#name}} {{name}}{{/name}}` makes text optional. */
const showsItself = (name: string, content: readonly Token[]): boolean =>
  content.some(([kind, text]) => (kind === 'name' || kind === '&') && text === name)

/** Looks up the value of a name, or of `.` in the innermost frame; undefined if it is missing, with the pointer it would have. */
function resolveName(frames: readonly Frame[], name: string): Frame {
  const innermost = frames.at(-1)!
  if (name === '.') return innermost
  const [first = '', ...steps] = name.split('.')
  // A section of text or of a boolean does not hide the names of the frames around it.
  const frameOfName = frames.findLast(({ value }) => ownProperty(value, first) !== undefined)
  const nearest =
    frameOfName ?? frames.findLast(({ value }) => typeof value === 'object' && value !== null) ?? innermost
  let { value, at } = nearest
  for (const step of [first, ...steps]) {
    value = ownProperty(value, step)
    at = pointerTo(at, step)
  }
  return { value, at }
}

const ownProperty = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined
