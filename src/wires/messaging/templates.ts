import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { asset } from '../../base/asset.ts'
import { invalid, type Issue } from '../../base/errors.ts'
import { escapeHtml } from '../../base/html.ts'
import { StartError } from '../../base/start-error.ts'
import { readTemplate, type Frame, type Template } from './mustache-template.ts'
import { plainText } from './plain-text.ts'

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
  /** The names of all templates, sorted. */
  names(): Promise<string[]>
}

const BUILT_IN = fileURLToPath(asset('wires/messaging/templates/'))
const LAYOUT = 'layout'
const ISSUES_SHOWN = 20
const NAME = /^[a-z0-9-]{1,100}$/
const FRONT_MATTER = /^\ufeff?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/

type Source = { file: string; text: string }

/**
 * Renders emails from Mustache files: `<name>.html` with the subject in its front matter; optionally `<name>.txt`,
 * which replaces the text made from the HTML; and `layout.html` around every HTML, which shows the `{{{content}}}`. A
 * file in the application's folder takes precedence over the built-in one of the same name. Files are read each time,
 * so a change takes effect at once.
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

  /** The application's file, or else the built-in one. */
  async function source(file: string): Promise<Source | undefined> {
    for (const place of [folder, BUILT_IN]) {
      const path = join(place, file)
      const text = await readFile(path, 'utf8').catch(unlessMissing)
      if (text !== undefined) return { file: path, text }
    }
    return undefined
  }

  async function names(): Promise<string[]> {
    const files = await Promise.all(
      [folder, BUILT_IN].map(async (place) => (await readdir(place).catch(unlessMissing)) ?? []),
    )
    const templateFiles = files
      .flat()
      .filter((file) => file.endsWith('.html'))
      .map((file) => file.slice(0, -'.html'.length))
    return [...new Set(templateFiles)].filter((name) => NAME.test(name) && name !== LAYOUT).toSorted()
  }

  async function unknownTemplate(name: string, at: string): Promise<Error> {
    const reason = NAME.test(name)
      ? `There is no template "${name}"`
      : 'The name of a template consists of lower-case letters, digits and hyphens'
    return invalid({ path: at, message: `${reason}: the templates are ${(await names()).join(', ')}.` })
  }

  return {
    names,

    async render(name, data, at = '/body/data') {
      const nameAt = `${at.slice(0, at.lastIndexOf('/'))}/template`
      // The name is checked before any file is read, so it can never be a path.
      const [html, text, layout] =
        NAME.test(name) && name !== LAYOUT
          ? await Promise.all([source(`${name}.html`), source(`${name}.txt`), source(`${LAYOUT}.html`)])
          : []
      if (!html) throw await unknownTemplate(name, nameAt)
      const { subject, body } = split(html)

      const issues = new Map<string, Issue>()
      const addIssue = (issue: Issue): void => {
        if (issues.size < ISSUES_SHOWN && !issues.has(issue.path)) issues.set(issue.path, issue)
      }
      const frames: Frame[] = [
        { value: { app, appUrl }, at },
        { value: data, at },
      ]
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

/** Splits a template into the subject of its front matter and its body. */
function split({ file, text }: Source): { subject: string; body: string } {
  const [all = '', lines = ''] = FRONT_MATTER.exec(text) ?? []
  let subject = ''
  for (const line of lines.split(/\r?\n/)) {
    if (/^\s*(#.*)?$/.test(line)) continue
    const [, key = '', value = ''] = /^\s*(\w+)\s*:\s*(.*?)\s*$/.exec(line) ?? []
    if (key !== 'subject')
      throw new StartError(
        `${file}: "${line.trim()}" in its front matter is unknown: the only field is subject`,
      )
    subject = value.replace(/^(["'])(.*)\1$/, '$2')
  }
  if (subject === '')
    throw new StartError(
      `${file}: the subject is missing: start the file with the lines ---, subject: ... and ---`,
    )
  return { subject, body: text.slice(all.length) }
}

function read(file: string, text: string): Template {
  try {
    return readTemplate(text)
  } catch (error) {
    throw new StartError(`${file}: ${(error as Error).message}`, { cause: error })
  }
}

function readLayout({ file, text }: Source): Template {
  if (!/\{\{(\{\s*content\s*\}|&\s*content\s*)\}\}/.test(text))
    throw new StartError(`${file}: {{{content}}} is missing: add it where the content of the email goes`)
  return read(file, text)
}

const unescaped = (text: string): string => text

/** One line, because a line break would end the header field of the subject. */
const subjectLine = (text: string): string => text.replace(/[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+/g, ' ').trim()

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
}
