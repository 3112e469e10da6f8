/**
 * The tag of a language (https://www.rfc-editor.org/info/bcp47) as it is usually written: `de`, `pt-BR`, `zh-Hant`.
 *
 * @internal a pattern of JSON Schema
 */
export const LANGUAGE = '^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$'

/** The language of the built-in texts. */
export const BUILT_IN_LANGUAGE = 'en'

const PATTERN = new RegExp(LANGUAGE)

/** Whether a value is the tag of a language. */
export const isLanguage = (value: unknown): value is string =>
  typeof value === 'string' && PATTERN.test(value)

/** The languages in which a text is looked for, the best first: of `de-AT` where `fr` is the default `de-AT`, `de`, `fr`, `en`. */
export const languagesFor = (wanted: string | undefined, preset: string): string[] => [
  ...new Set([...(isLanguage(wanted) ? withParents(wanted) : []), ...withParents(preset), BUILT_IN_LANGUAGE]),
]

function withParents(tag: string): string[] {
  const steps = tag.split('-')
  return steps.map((_step, at) => steps.slice(0, steps.length - at).join('-'))
}
