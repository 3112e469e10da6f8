import { invalid, type Issue } from '../../../base/errors.ts'
import { escapeHtml } from '../../../base/html.ts'
import { StartError } from '../../../base/start-error.ts'
import type { Frame, Template, TemplateValue } from './mustache-template.ts'
import { plainText } from './plain-text.ts'
import {
  createTemplateFiles,
  LAYOUT,
  read,
  readLayout,
  split,
  TEMPLATE_NAME,
  type TemplateFiles,
} from './template-files.ts'
import { givenBy, mergedValues, sampleOf } from './template-values.ts'

/** A rendered template. The subject is one line. */
export type RenderedMail = { subject: string; html: string; text: string }

export type Templates = {
  /**
   * Renders a template.
   *
   * @param at JSON pointer of `data`, for errors; the name of the template is `template` beside it
   * @throws VALIDATION_ERROR if the template does not exist, or with all values that it shows and `data` lacks
   * @throws StartError if a file of the template is malformed, with a line for its author
   */
  render(name: string, data: Readonly<Record<string, unknown>>, at?: string): Promise<RenderedMail>
  /**
   * Renders a template of a text message, `<name>.txt` without `<name>.html`. Values are shown as they are.
   *
   * @throws VALIDATION_ERROR and StartError as `render` does
   */
  renderText(name: string, data: Readonly<Record<string, unknown>>, at?: string): Promise<string>
  /** The names of all templates of mails, sorted. */
  names(): Promise<string[]>
  /** The names of all templates of text messages, sorted. */
  textNames(): Promise<string[]>
  /** What a template is and needs; undefined if there is none of this name. One that is malformed has an `error`. */
  describe(name: string): Promise<TemplateDescription | undefined>
}

export type TemplateDescription = {
  name: string
  channel: 'email' | 'sms'
  /** Whether a file of the application replaces, or is, the template. */
  isBuiltIn: boolean
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
 * which replaces the text made from the HTML; and `layout.html` around every HTML, which shows the `{{{content}}}`. A
 * file in the application's folder takes precedence over the built-in one of the same name. Files are read each time,
 * so a change takes effect at once. A `<name>.txt` without a `<name>.html` is the template of a text message.
 *
 *     ---
 *     subject: Your order {{number}}
 *     ---
 *     <p>Hello{{#name}} {{name}}{{/name}},</p>
 *
 * Values are escaped in HTML. A value that is shown must exist; optional parts are written as sections. Besides the
 * values of `data` there are `app`, `appUrl`, and in the layout `subject`.
 *
 * @param options.folder the application's templates; it need not exist
 * @param options.app the name of the application
 */
export function createTemplates(options: { folder: string; app: string; appUrl: string }): Templates {
  const { folder, app, appUrl } = options
  const files = createTemplateFiles(folder)
  const source = (file: string) => files.source(file)
  const names = () => files.names()
  const textNames = () => files.textNames()

  async function unknownTemplate(name: string, at: string, known = names): Promise<Error> {
    const reason = TEMPLATE_NAME.test(name)
      ? `There is no template "${name}"`
      : 'The name of a template consists of lower-case letters, digits and hyphens'
    return invalid({ path: at, message: `${reason}: the templates are ${(await known()).join(', ')}.` })
  }

  /** What a template can show, and where it says what is missing. */
  function valuesOf(data: Readonly<Record<string, unknown>>, at: string) {
    const issues = new Map<string, Issue>()
    const addIssue = (issue: Issue): void => {
      if (issues.size < ISSUES_SHOWN && !issues.has(issue.path)) issues.set(issue.path, issue)
    }
    const frames: readonly Frame[] = [
      { value: { app, appUrl }, at },
      { value: data, at },
    ]
    return { frames, issues, addIssue }
  }

  return {
    names,
    textNames,
    describe: (name) => describeTemplate(files, name, { folder, appUrl }),

    async renderText(name, data, at = '/body/data') {
      const text = TEMPLATE_NAME.test(name) ? await source(`${name}.txt`) : undefined
      if (!text) throw await unknownTemplate(name, nameAt(at), textNames)
      const { frames, issues, addIssue } = valuesOf(data, at)
      const body = read(text.file, text.text).render(frames, unescaped, addIssue).trim()
      if (issues.size > 0) throw invalid(...issues.values())
      return body
    },

    async render(name, data, at = '/body/data') {
      // The name is checked before any file is read, so it can never be a path.
      const [html, text, layout] =
        TEMPLATE_NAME.test(name) && name !== LAYOUT
          ? await Promise.all([source(`${name}.html`), source(`${name}.txt`), source(`${LAYOUT}.html`)])
          : []
      if (!html) throw await unknownTemplate(name, nameAt(at))
      const { subject, body } = split(html)

      const { frames, issues, addIssue } = valuesOf(data, at)
      const render = (
        template: Template,
        escape: (text: string) => string,
        more: readonly Frame[] = [],
      ): string => template.render([...frames, ...more], escape, addIssue)

      const mailSubject = subjectLine(render(read(html.file, subject), unescaped))
      const content = render(read(html.file, body), escapeHtml)
      const mailHtml = layout
        ? render(readLayout(layout), escapeHtml, [{ value: { content, subject: mailSubject }, at }])
        : content
      const mailText = text ? render(read(text.file, text.text), unescaped) : await plainText(mailHtml)
      if (issues.size > 0) throw invalid(...issues.values())
      return { subject: mailSubject, html: mailHtml, text: mailText }
    },
  }
}

/** The JSON pointer of the template's name, which is beside its data. */
const nameAt = (dataAt: string): string => `${dataAt.slice(0, dataAt.lastIndexOf('/'))}/template`

async function describeTemplate(
  files: TemplateFiles,
  name: string,
  { folder, appUrl }: { folder: string; appUrl: string },
): Promise<TemplateDescription | undefined> {
  if (!TEMPLATE_NAME.test(name) || name === LAYOUT) return undefined
  const [html, text, layout] = await Promise.all(
    [`${name}.html`, `${name}.txt`, `${LAYOUT}.html`].map((file) => files.source(file)),
  )
  const main = html ?? text
  if (!main) return undefined
  const summary = { name, channel: html ? 'email' : 'sms', isBuiltIn: main.isBuiltIn } as const
  try {
    const { subject, body } = html ? split(html) : { subject: undefined, body: main.text }
    const used = [
      ...(subject === undefined ? [] : read(main.file, subject).values),
      ...read(main.file, body).values,
      ...(html && text ? read(text.file, text.text).values : []),
      ...(html && layout ? readLayout(layout).values.filter((one) => !givenBy('layout', one)) : []),
    ]
    const values = mergedValues(used)
    return { ...summary, ...(subject !== undefined && { subject }), values, sample: sampleOf(values, appUrl) }
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    // Not where the application is on this machine.
    return { ...summary, values: [], sample: {}, error: error.message.replaceAll(`${folder}/`, '') }
  }
}

const unescaped = (text: string): string => text

/** One line, because a line break would end the header field of the subject. */
const subjectLine = (text: string): string => text.replace(/[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+/g, ' ').trim()
