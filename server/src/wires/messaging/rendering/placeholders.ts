import { didYouMean } from '../../../base/did-you-mean.ts'
import { StartError } from '../../../base/start-error.ts'
import type { Template, TemplateValue } from './mustache-template.ts'
import { GIVEN_TO_ALL, mergedValues } from './template-values.ts'
import { templatesOf, type TemplateText } from './template-texts.ts'

/** What built-in templates are given and do not show. */
const FURTHER: Readonly<Record<string, readonly string[]>> = { 'magic-link': ['code.digits'] }

/** Without these a mail or a text message is of no use. */
const NEEDED = ['link', 'code']

/** `{{{name}}}` and `{{&name}}` */
const UNESCAPED = /\{\{[{&]/

/** All values that a text shows. @throws StartError as `templatesOf` does */
export const valuesShown = (text: TemplateText): TemplateValue[] =>
  Object.values(templatesOf(text)).flatMap((template: Template | undefined) => template?.values ?? [])

/**
 * What is wrong with a text of an administrator: of a template that there is without it the values are known.
 *
 * @param base that template; undefined if it is one of the administrator's own
 */
export function textFault(text: TemplateText, base: TemplateText | undefined): string | undefined {
  try {
    return base ? placeholderFault(text, base) : void valuesShown(text)
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    return error.message.replace(/^messaging\.texts\.[^:]*: /, '')
  }
}

function placeholderFault(text: TemplateText, base: TemplateText): string | undefined {
  const ofBase = valuesShown(base)
  const names = [
    ...mergedValues(ofBase).map(({ name }) => name),
    ...(FURTHER[base.name] ?? []),
    ...GIVEN_TO_ALL,
  ]
  const shown = valuesShown(text)
  const unknown = shown.find(({ name }) => !isAmong(name, names))
  if (unknown)
    return `there is no placeholder {{${unknown.name}}}${didYouMean(unknown.name, names)}: there are ${names
      .map((name) => `{{${name}}}`)
      .join(', ')}`
  if (base.source === 'built-in' && UNESCAPED.test(text.html?.text ?? ''))
    return 'write {{…}} in place of {{{…}}} and {{&…}}: what persons call themselves would be shown as HTML'
  const { html, text: plain } = templatesOf(text)
  // Each is all that some readers see.
  const bodies = [html, plain].filter((one) => one !== undefined)
  const isShown = (values: readonly TemplateValue[], name: string): boolean =>
    values.some((one) => one.name === name && one.isRequired)
  const missing = NEEDED.find(
    (name) => isShown(ofBase, name) && !bodies.every(({ values }) => isShown(values, name)),
  )
  return missing && `{{${missing}}} is missing: show it outside of all sections, or what is sent is of no use`
}

/** A section shows names of what is around it: `ip.device` is `device`, if there is `ip`. */
function isAmong(name: string, names: readonly string[]): boolean {
  if (names.some((one) => one === name || one.startsWith(`${name}.`))) return true
  const [section = '', ...inner] = name.split('.')
  return inner.length > 0 && isAmong(section, names) && isAmong(inner.join('.'), names)
}
