import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { invalid, type Issue } from '../../base/errors.ts'
import { escapeHtml } from '../../base/html.ts'
import { StartError } from '../../base/start-error.ts'
import { readTemplate, type Frame, type Template } from './mustache-template.ts'
import { plainText } from './plain-text.ts'

/** What a template makes. The subject is one line. */
export type RenderedMail = { subject: string; html: string; text: string }

export type Templates = {
  /**
   * Fills a template in.
   *
   * @param at JSON pointer of `data`, for errors; the one of the template's name is `template` beside it
   * @throws VALIDATION_ERROR where there is no such template, or `data` lacks values that it shows: all of them
   * @throws StartError where a file of the template is not well-formed; the line is for whoever wrote it
   */
  render(name: string, data: Readonly<Record<string, unknown>>, at?: string): Promise<RenderedMail>
  /** Every template there is, sorted. */
  names(): Promise<string[]>
}

const BUILT_IN = fileURLToPath(new URL('templates/', import.meta.url))
const LAYOUT = 'layout'
const ISSUES_SHOWN = 20
const NAME = /^[a-z0-9-]{1,100}$/
const FRONT_MATTER = /^\ufeff?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/

type Source = { file: string; text: string }

/**
 * Mails from files, in Mustache: `<name>.html` with its subject in front matter, a `<name>.txt` where the text is not
 * to be made from the HTML, and `layout.html` around every HTML, which shows the `{{{content}}}`. A file in the
 * application's folder stands before the built-in one of its name. Files are read anew each time, so a change shows
 * at once.
 *
 *     ---
 *     subject: Your order {{number}}
 *     ---
 *     <p>Hello{{#name}} {{name}}{{/name}},</p>
 *
 * What is put into HTML is escaped. A value that is shown must be there; what may be missing stands in a section.
 * Beside the values given there are `app`, `appUrl`, and in the layout `subject`.
 *
 * @param options.folder the application's templates; it need not exist
 * @param options.app name of the application
 */
export function createTemplates(options: { folder: string; app: string; appUrl: string }): Templates {
  const { folder, app, appUrl } = options

  /** The application's file, else the built-in one. */
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
    const found = files
      .flat()
      .filter((file) => file.endsWith('.html'))
      .map((file) => file.slice(0, -'.html'.length))
    return [...new Set(found)].filter((name) => NAME.test(name) && name !== LAYOUT).toSorted()
  }

  async function unknown(name: string, at: string): Promise<Error> {
    const wrong = NAME.test(name)
      ? `There is no template "${name}"`
      : 'The name of a template has small letters, digits and hyphens only'
    return invalid({ path: at, message: `${wrong}: there are ${(await names()).join(', ')}.` })
  }

  return {
    names,

    async render(name, data, at = '/body/data') {
      const nameAt = `${at.slice(0, at.lastIndexOf('/'))}/template`
      // Never a path: the name was checked before any file is looked for.
      const [html, text, layout] =
        NAME.test(name) && name !== LAYOUT
          ? await Promise.all([source(`${name}.html`), source(`${name}.txt`), source(`${LAYOUT}.html`)])
          : []
      if (!html) throw await unknown(name, nameAt)
      const { subject, body } = split(html)

      const lacking = new Map<string, Issue>()
      const note = (issue: Issue): void => {
        if (lacking.size < ISSUES_SHOWN && !lacking.has(issue.path)) lacking.set(issue.path, issue)
      }
      const frames: Frame[] = [
        { value: { app, appUrl }, at },
        { value: data, at },
      ]
      const fill = (
        template: Template,
        escape: (text: string) => string,
        more: readonly Frame[] = [],
      ): string => template.render([...frames, ...more], escape, note)

      const filledSubject = subjectLine(fill(read(html.file, subject), asItIs))
      const content = fill(read(html.file, body), escapeHtml)
      const filledHtml = layout
        ? fill(readLayout(layout), escapeHtml, [{ value: { content, subject: filledSubject }, at }])
        : content
      const filledText = text ? fill(read(text.file, text.text), asItIs) : await plainText(filledHtml)
      if (lacking.size > 0) throw invalid(...lacking.values())
      return { subject: filledSubject, html: filledHtml, text: filledText }
    },
  }
}

/** Divides a template into the subject of its front matter and what comes after. */
function split({ file, text }: Source): { subject: string; body: string } {
  const [all = '', lines = ''] = FRONT_MATTER.exec(text) ?? []
  let subject = ''
  for (const line of lines.split(/\r?\n/)) {
    if (/^\s*(#.*)?$/.test(line)) continue
    const [, key = '', value = ''] = /^\s*(\w+)\s*:\s*(.*?)\s*$/.exec(line) ?? []
    if (key !== 'subject')
      throw new StartError(`${file}: "${line.trim()}" in its front matter is not known: there is subject`)
    subject = value.replace(/^(["'])(.*)\1$/, '$2')
  }
  if (subject === '')
    throw new StartError(
      `${file}: the subject is missing: begin the file with the lines ---, subject: ... and ---`,
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
    throw new StartError(`${file}: {{{content}}} is missing, where the mail itself goes`)
  return read(file, text)
}

const asItIs = (text: string): string => text

/** A line break would end the header of the subject. */
const subjectLine = (text: string): string => text.replace(/[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+/g, ' ').trim()

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
}
