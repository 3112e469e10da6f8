import { BUILT_IN_LANGUAGE, isLanguage, languagesFor } from '../language.ts'
import {
  LAYOUT,
  read,
  split,
  TEMPLATE_NAME,
  type TemplateFiles,
  type TemplateSource,
} from './template-files.ts'
import type { Template } from './mustache-template.ts'

/** A text as an administrator writes it: of a mail with a subject and HTML, of a text message with text alone. */
export type StoredText = { readonly subject?: string; readonly html?: string; readonly text?: string }

/** Texts by the names of templates and by languages. */
export type StoredTexts = Readonly<Record<string, Readonly<Record<string, StoredText>>>>

/** Who wrote a text. */
export const TEXT_SOURCES = ['built-in', 'application', 'console'] as const

/** The text of a template in one language. */
export type TemplateText = {
  readonly name: string
  readonly channel: 'email' | 'sms'
  readonly language: string
  readonly source: (typeof TEXT_SOURCES)[number]
  /** A mail's; a text message has none. */
  readonly html?: TemplateSource
  /** The text of a text message, or of a mail instead of that made from its HTML. */
  readonly text?: TemplateSource
  /** If it is not in the HTML's front matter. */
  readonly subject?: TemplateSource
}

/** The texts of all templates: of the application's files, of administrators, and the built-in ones. */
export type TemplateTexts = {
  /** The text in the best language that there is one in; undefined if there is no such template. */
  find(name: string, wanted?: string): Promise<TemplateText | undefined>
  /** The text of a template without those of administrators: what theirs are checked by. */
  ofFiles(name: string): Promise<TemplateText | undefined>
  /** The texts in all languages, that of the default language first. */
  list(name: string): Promise<TemplateText[]>
  /** The names of all templates of a channel, sorted. */
  names(channel: 'email' | 'sms'): Promise<string[]>
}

/**
 * @param options.language the default one, which the application's files without a language are in
 * @param options.stored what administrators have written
 */
export function createTemplateTexts(
  { files }: { files: TemplateFiles },
  { language: preset, stored }: { language: string; stored: StoredTexts },
): TemplateTexts {
  /** A text of a pair of files, or undefined if that of the channel is missing. */
  async function ofPair(
    name: string,
    language: string,
    source: TemplateText['source'],
    open: (extension: '.html' | '.txt') => Promise<TemplateSource | undefined>,
  ): Promise<TemplateText | undefined> {
    const [html, text] = await Promise.all([open('.html'), open('.txt')])
    if (!html && !text) return undefined
    return {
      name,
      language,
      source,
      channel: html ? 'email' : 'sms',
      ...(html && { html }),
      ...(text && { text }),
    }
  }

  const ofApplication = (name: string, file: string, language: string) =>
    ofPair(name, language, 'application', (extension) => files.own(`${file}${extension}`))

  /** The application may have a file of the text alone for a built-in HTML. */
  const builtIn = (name: string) =>
    ofPair(name, BUILT_IN_LANGUAGE, 'built-in', async (extension) =>
      extension === '.txt' && !(await files.own(`${name}.html`)) && (await files.builtIn(`${name}.html`))
        ? files.source(`${name}.txt`)
        : files.builtIn(`${name}${extension}`),
    )

  async function ofLanguage(name: string, language: string): Promise<TemplateText | undefined> {
    const base = await builtIn(name)
    const labelled = await ofApplication(name, `${name}.${language}`, language)
    const own = labelled ?? (language === preset ? await ofApplication(name, name, language) : undefined)
    if (own && isWhole(own, base)) return own
    return storedText(name, language, stored) ?? (language === BUILT_IN_LANGUAGE ? base : undefined)
  }

  async function languagesOf(name: string): Promise<string[]> {
    const languages = [
      preset,
      BUILT_IN_LANGUAGE,
      ...(await files.languages(name)),
      ...Object.keys(stored[name] ?? {}).filter(isLanguage),
    ]
    return [...new Set(languages)].toSorted(
      (a, b) => Number(b === preset) - Number(a === preset) || a.localeCompare(b),
    )
  }

  async function list(name: string): Promise<TemplateText[]> {
    if (!TEMPLATE_NAME.test(name)) return []
    const texts = await Promise.all((await languagesOf(name)).map((language) => ofLanguage(name, language)))
    return texts.filter((one) => one !== undefined)
  }

  async function names(channel: 'email' | 'sms'): Promise<string[]> {
    const storedNames = Object.keys(stored).filter(
      (name) =>
        name !== LAYOUT &&
        Object.keys(stored[name]!).some(
          (language) => storedText(name, language, stored)?.channel === channel,
        ),
    )
    const found = channel === 'email' ? await files.names() : await files.textNames()
    const others = channel === 'email' ? await files.textNames() : await files.names()
    return [...new Set([...found, ...storedNames.filter((name) => !others.includes(name))])].toSorted()
  }

  return {
    list,
    names,
    async find(name, wanted) {
      // The name is checked before any file is read, so it can never be a path.
      if (!TEMPLATE_NAME.test(name)) return undefined
      for (const language of languagesFor(wanted, preset)) {
        const text = await ofLanguage(name, language)
        if (text) return text
      }
      return (await list(name))[0]
    },
    async ofFiles(name) {
      if (!TEMPLATE_NAME.test(name)) return undefined
      const [own, base] = await Promise.all([ofApplication(name, name, preset), builtIn(name)])
      return own && isWhole(own, base) ? own : base
    },
  }
}

/** A file of the text alone does not replace a built-in mail. */
const isWhole = (own: TemplateText, base: TemplateText | undefined): boolean =>
  own.channel === 'email' || base?.channel !== 'email'

/** What an administrator has written; undefined if it is no whole text. */
function storedText(name: string, language: string, stored: StoredTexts): TemplateText | undefined {
  const written = Object.hasOwn(stored, name) ? stored[name]![language] : undefined
  return written && textOf(name, language, written)
}

/** What an administrator writes, saved or not; undefined if it is no whole text. */
export function textOf(name: string, language: string, written: StoredText): TemplateText | undefined {
  const { subject, html, text } = written
  if (html === undefined && text === undefined) return undefined
  const part = (value: string | undefined, leaf: string): TemplateSource | undefined =>
    value === undefined
      ? undefined
      : { file: `messaging.texts.${name}.${language}.${leaf}`, text: value, isBuiltIn: false }
  const [ofSubject, ofHtml, ofText] = [part(subject, 'subject'), part(html, 'html'), part(text, 'text')]
  return {
    name,
    language,
    source: 'console',
    channel: ofHtml ? 'email' : 'sms',
    ...(ofHtml && { html: ofHtml }),
    ...(ofText && { text: ofText }),
    ...(ofHtml && { subject: ofSubject ?? { ...ofHtml, text: name } }),
  }
}

/** A text as it is written, in its parts. @throws StartError if a file has no subject */
export function partsOf({ html, text, subject }: TemplateText): {
  subject?: string
  html?: string
  text?: string
} {
  const mail = html && (subject ? { subject: subject.text, body: html.text } : split(html))
  return {
    ...(mail && { subject: mail.subject, html: mail.body }),
    ...(text && { text: text.text }),
  }
}

/** The templates of a text's parts. @throws StartError with a line for the author of a malformed one */
export function templatesOf(
  written: TemplateText,
): Readonly<Record<'subject' | 'html' | 'text', Template | undefined>> {
  const { subject, html, text } = partsOf(written)
  const parsed = (source: TemplateSource | undefined, part: string | undefined): Template | undefined =>
    source && part !== undefined ? read(source.file, part) : undefined
  return {
    subject: parsed(written.subject ?? written.html, subject),
    html: parsed(written.html, html),
    text: parsed(written.text, text),
  }
}
