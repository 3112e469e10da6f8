import type { Api, CallReply } from '../../../../client/src/index.ts'

/** A template with the values that it needs. */
export type TemplateSummary = CallReply<Api, 'GET /messaging/templates'>['templates'][number]

/** The same with its texts in all languages. */
export type ShownTemplate = CallReply<Api, 'GET /messaging/templates/:name'>
export type ShownText = ShownTemplate['texts'][number]

/** What is written of a text; empty: it has no such part. */
export const PARTS = ['subject', 'html', 'text'] as const
export type Written = Readonly<Record<(typeof PARTS)[number], string>>

/** The options of a text, as `PATCH /core/settings` takes them; null: it is removed. */
export const optionsOf = (name: string, language: string, written: Written | null): Record<string, unknown> =>
  Object.fromEntries(PARTS.map((part) => [optionOf(name, language, part), written?.[part] || null]))

export const optionOf = (name: string, language: string, part: string): string =>
  `messaging.texts.${name}.${language}.${part}`

/** The tags of languages as the server takes them. https://www.rfc-editor.org/info/bcp47 */
export const LANGUAGE = '[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?'

/** `German (de)` */
export function languageName(tag: string): string {
  try {
    return `${new Intl.DisplayNames(['en'], { type: 'language' }).of(tag)} (${tag})`
  } catch {
    return tag
  }
}
