import { textOn } from '../../../base/color.ts'
import { invalid, type Issue } from '../../../base/errors.ts'
import { escapeHtml } from '../../../base/html.ts'
import { StartError } from '../../../base/start-error.ts'
import type { Frame, Template, TemplateValue } from './mustache-template.ts'
import { BUILT_IN_LANGUAGE } from '../language.ts'
import { textFault, valuesShown } from './placeholders.ts'
import { hasTooManyOpen, plainText } from './plain-text.ts'
import {
  createTemplateFiles,
  LAYOUT,
  readLayout,
  TEMPLATE_NAME,
  type TemplateFiles,
} from './template-files.ts'
import {
  createTemplateTexts,
  partsOf,
  templatesOf,
  textOf,
  type StoredText,
  type StoredTexts,
  type TemplateText,
  type TemplateTexts,
} from './template-texts.ts'
import { givenBy, mergedValues, sampleOf } from './template-values.ts'

/** A rendered template. The subject is one line. */
export type RenderedMail = { subject: string; html: string; text: string }

/** How a template is rendered. */
export type RenderOptions = {
  /** JSON pointer of `data`, for errors; the name of the template is `template` beside it. */
  at?: string
  /** Default: the default language. Without a text in it, that of the default language is taken. */
  language?: string | undefined
  /** What is not saved yet, in place of the template's text. */
  draft?: StoredText | undefined
}

export type Templates = {
  /** The language of mails to persons whose language is not known. */
  readonly language: string
  /**
   * Renders a template.
   *
   * @throws VALIDATION_ERROR if the template does not exist, or with all values that it shows and `data` lacks
   * @throws StartError if a file of the template is malformed, with a line for its author
   */
  render(
    name: string,
    data: Readonly<Record<string, unknown>>,
    options?: RenderOptions,
  ): Promise<RenderedMail>
  /**
   * Renders a template of a text message, `<name>.txt` without `<name>.html`. Values are shown as they are.
   *
   * @throws VALIDATION_ERROR and StartError as `render` does
   */
  renderText(name: string, data: Readonly<Record<string, unknown>>, options?: RenderOptions): Promise<string>
  /** The names of all templates of mails, sorted. */
  names(): Promise<string[]>
  /** The names of all templates of text messages, sorted. */
  textNames(): Promise<string[]>
  /** What a template is and needs; undefined if there is none of this name. One that is malformed has an `error`. */
  describe(name: string): Promise<TemplateDescription | undefined>
  /** The texts of a template, that of the default language first. */
  texts(name: string): Promise<WrittenText[]>
  /** The channel of a text that is not saved, and values to try it with. */
  describeDraft(name: string, draft: StoredText): Pick<TemplateDescription, 'channel' | 'values' | 'sample'>
  /** What is wrong with a text that an administrator writes; undefined if nothing is. */
  faultOf(name: string, language: string, text: StoredText): Promise<string | undefined>
}

/** A text as it is written: of a file, of an administrator, or built in. */
export type WrittenText = StoredText & {
  language: string
  source: TemplateText['source']
  /** Which file of the application it is. */
  file?: string
  error?: string
}

export type TemplateDescription = {
  name: string
  channel: 'email' | 'sms'
  /** Whether its text in the default language is the built-in one. */
  isBuiltIn: boolean
  /** Who wrote that text. */
  source: TemplateText['source']
  /** The languages that it has texts in, the default one first if it is among them. */
  languages: string[]
  /** As it is written: `Your order {{number}}`. */
  subject?: string
  /** The names of the values that it uses, without those that every template has. */
  values: TemplateValue[]
  /** Values to try it with. */
  sample: Record<string, unknown>
  /** What is wrong with its files, one line. */
  error?: string
}

const ISSUES_SHOWN = 20

/**
 * Renders emails from Mustache files: `<name>.html` with the subject in its front matter; optionally `<name>.txt`,
 * which replaces the text made from the HTML; and `layout.html` around every HTML, which shows the `{{{content}}}`.
 * `<name>.de.html` is the German one. A file in the application's folder takes precedence over what administrators have
 * written, and that over the built-in file. Files are read each time, so a change takes effect at once. A `<name>.txt`
 * without a `<name>.html` is the template of a text message.
 *
 *     ---
 *     subject: Your order {{number}}
 *     ---
 *     <p>Hello{{#name}} {{name}}{{/name}},</p>
 *
 * Values are escaped in HTML. A value that is shown must exist; optional parts are written as sections. Besides the
 * values of `data` there are `app`, `appUrl`, `appColor`, `appColorText`, and in the layout `subject` and `language`.
 *
 * @param options.folder the application's templates; it need not exist
 * @param options.app the name of the application
 * @param options.color its colour
 */
export function createTemplates(options: TemplateOptions): Templates {
  const { app, appUrl, color, language: preset = BUILT_IN_LANGUAGE, stored = {} } = options
  const files = createTemplateFiles(options.folder)
  const texts = createTemplateTexts({ files }, { language: preset, stored })
  const namesOf = (channel: 'email' | 'sms') => texts.names(channel)

  async function requireText(
    name: string,
    channel: 'email' | 'sms',
    { at = DATA, language, draft }: RenderOptions,
  ): Promise<TemplateText> {
    const text = draft
      ? TEMPLATE_NAME.test(name) && textOf(name, language ?? preset, draft)
      : await texts.find(name, language)
    if (text && text.channel === channel && name !== LAYOUT) return text
    const reason = TEMPLATE_NAME.test(name)
      ? `There is no template "${name}"`
      : 'The name of a template consists of lower-case letters, digits and hyphens'
    const known = (await namesOf(channel)).join(', ')
    throw invalid({ path: nameAt(at), message: `${reason}: the templates are ${known}.` })
  }

  /** What a template can show, and where it says what is missing. */
  function valuesOf(data: Readonly<Record<string, unknown>>, at: string) {
    const issues = new Map<string, Issue>()
    const addIssue = (issue: Issue): void => {
      if (issues.size < ISSUES_SHOWN && !issues.has(issue.path)) issues.set(issue.path, issue)
    }
    const frames: readonly Frame[] = [
      { value: { app, appUrl, appColor: color, appColorText: textOn(color) }, at },
      { value: data, at },
    ]
    return { frames, issues, addIssue }
  }

  return {
    language: preset,
    names: () => namesOf('email'),
    textNames: () => namesOf('sms'),
    describe: (name) => describeTemplate(files, texts, name, options),
    texts: async (name) => (await texts.list(name)).map((one) => written(one, options.folder)),

    describeDraft(name, draft) {
      const text = textOf(name, preset, draft)!
      const values = mergedValues(valuesShown(text))
      return { channel: text.channel, values, sample: sampleOf(values, appUrl) }
    },

    async faultOf(name, language, draft) {
      if (name === LAYOUT) return 'the layout is a file of the application: templates/layout.html'
      const text = textOf(name, language, draft)
      if (!text) return 'write the text of the mail'
      if (draft.html !== undefined && !draft.subject) return 'a mail needs a subject'
      const all = await texts.list(name)
      const base = await texts.ofFiles(name)
      const others = [...(base ? [base] : []), ...all.filter((one) => one.language !== language)]
      const other = others.find(({ channel }) => channel !== text.channel)
      if (other) return `it is ${KINDS[text.channel]}, and ${KINDS[other.channel]} in ${other.language}`
      const used = all.find((one) => one.language === language)
      return used?.source === 'application'
        ? `${withoutFolder(mainOf(used).file, options.folder)} of the application has this text: change it there`
        : textFault(text, base)
    },

    async renderText(name, data, options = {}) {
      const text = await requireText(name, 'sms', options)
      const { frames, issues, addIssue } = valuesOf(data, options.at ?? DATA)
      const body = templatesOf(text).text!.render(frames, unescaped, addIssue).trim()
      if (issues.size > 0) throw invalid(...issues.values())
      return body
    },

    async render(name, data, options = {}) {
      const { at = DATA } = options
      const mail = await requireText(name, 'email', options)
      const layout = await layoutOf(files, mail.language)
      const { subject, html, text } = templatesOf(mail)

      const { frames, issues, addIssue } = valuesOf(data, at)
      const render = (
        template: Template,
        escape: (text: string) => string,
        more: readonly Frame[] = [],
      ): string => template.render([...frames, ...more], escape, addIssue)

      const mailSubject = subjectLine(render(subject!, unescaped))
      const content = render(html!, escapeHtml)
      const mailHtml = layout
        ? render(readLayout(layout), escapeHtml, [
            { value: { content, language: mail.language, subject: mailSubject }, at },
          ])
        : content
      if (!text && hasTooManyOpen(mailHtml))
        throw invalid({ path: at, message: 'with these values too many elements of the HTML have no end' })
      const mailText = text ? render(text, unescaped) : await plainText(mailHtml)
      if (issues.size > 0) throw invalid(...issues.values())
      return { subject: mailSubject, html: mailHtml, text: mailText }
    },
  }
}

export type TemplateOptions = {
  folder: string
  app: string
  appUrl: string
  color: string
  /** Default: that of the built-in texts. */
  language?: string
  stored?: StoredTexts
}

const DATA = '/body/data'
const KINDS = { email: 'a mail', sms: 'a text message' }

const layoutOf = async (files: TemplateFiles, language: string) =>
  (await files.own(`${LAYOUT}.${language}.html`)) ?? files.source(`${LAYOUT}.html`)

/** The part that a text consists of. */
const mainOf = ({ html, text }: TemplateText) => (html ?? text)!

/** Not where the application is on this machine. */
const withoutFolder = (text: string, folder: string): string => text.replaceAll(`${folder}/`, '')

function written(text: TemplateText, folder: string): WrittenText {
  const { language, source } = text
  const summary = {
    language,
    source,
    ...(source === 'application' && { file: withoutFolder(mainOf(text).file, folder) }),
  }
  try {
    const { html, ...parts } = partsOf(text)
    // Without the empty line after the front matter.
    return { ...summary, ...parts, ...(html !== undefined && { html: html.trimStart() }) }
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    return { ...summary, error: withoutFolder(error.message, folder) }
  }
}

/** The JSON pointer of the template's name, which is beside its data. */
const nameAt = (dataAt: string): string => `${dataAt.slice(0, dataAt.lastIndexOf('/'))}/template`

async function describeTemplate(
  files: TemplateFiles,
  texts: TemplateTexts,
  name: string,
  { folder, appUrl }: Pick<TemplateOptions, 'folder' | 'appUrl'>,
): Promise<TemplateDescription | undefined> {
  const text = name === LAYOUT ? undefined : await texts.find(name)
  if (!text) return undefined
  const { channel, source } = text
  const languages = (await texts.list(name)).map(({ language }) => language)
  const summary = { name, channel, source, isBuiltIn: source === 'built-in', languages }
  try {
    const layout = channel === 'email' ? await layoutOf(files, text.language) : undefined
    const { subject } = partsOf(text)
    const used = [
      ...valuesShown(text),
      ...(layout ? readLayout(layout).values.filter((one) => !givenBy('layout', one)) : []),
    ]
    const values = mergedValues(used)
    return { ...summary, ...(subject !== undefined && { subject }), values, sample: sampleOf(values, appUrl) }
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    return { ...summary, values: [], sample: {}, error: withoutFolder(error.message, folder) }
  }
}

const unescaped = (text: string): string => text

/** One line, because a line break would end the header field of the subject. */
const subjectLine = (text: string): string => text.replace(/[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+/g, ' ').trim()
