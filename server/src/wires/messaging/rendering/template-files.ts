import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { asset } from '../../../base/asset.ts'
import { StartError } from '../../../base/start-error.ts'
import { isLanguage } from '../language.ts'
import { readTemplate, type Template } from './mustache-template.ts'

const BUILT_IN = fileURLToPath(asset('wires/messaging/templates/'))
const FRONT_MATTER = /^\ufeff?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/

/** The template around the HTML of every mail. */
export const LAYOUT = 'layout'
/** What the name of a template is like: it can never be a path. */
export const TEMPLATE_NAME = /^[a-z0-9-]{1,100}$/

/** A file of a template: the application's own, or the built-in one of the same name. */
export type TemplateSource = { file: string; text: string; isBuiltIn: boolean }

/** The files of templates. */
export type TemplateFiles = {
  /** The application's file, or else the built-in one. */
  source(file: string): Promise<TemplateSource | undefined>
  /** The application's file. */
  own(file: string): Promise<TemplateSource | undefined>
  builtIn(file: string): Promise<TemplateSource | undefined>
  /** The languages in which the application has a template: of `order.de.html` it is `de`. */
  languages(name: string): Promise<string[]>
  /** The names of all templates of mails, sorted. */
  names(): Promise<string[]>
  /** The names of all templates of text messages, sorted. */
  textNames(): Promise<string[]>
}

/** @param folder the application's templates; it need not exist */
export function createTemplateFiles(folder: string): TemplateFiles {
  /** The files of an extension: their names without it. */
  async function stemsOf(place: string, extension: '.html' | '.txt'): Promise<string[]> {
    const files = (await readdir(place).catch(unlessMissing)) ?? []
    return files.filter((file) => file.endsWith(extension)).map((file) => file.slice(0, -extension.length))
  }

  async function namesOf(extension: '.html' | '.txt'): Promise<string[]> {
    const stems = await Promise.all([folder, BUILT_IN].map((place) => stemsOf(place, extension)))
    const templates = stems.flat().flatMap((stem) => {
      const [name = '', language] = stem.split('.', 2)
      return language === undefined || isLanguage(language) ? [name] : []
    })
    return [...new Set(templates)].filter((name) => TEMPLATE_NAME.test(name) && name !== LAYOUT).toSorted()
  }

  async function open(place: string, file: string): Promise<TemplateSource | undefined> {
    const path = join(place, file)
    const text = await readFile(path, 'utf8').catch(unlessMissing)
    return text === undefined ? undefined : { file: path, text, isBuiltIn: place === BUILT_IN }
  }

  const names = (): Promise<string[]> => namesOf('.html')

  return {
    names,
    async textNames() {
      const [texts, mails] = await Promise.all([namesOf('.txt'), names()])
      return texts.filter((name) => !mails.includes(name))
    },
    own: (file) => open(folder, file),
    builtIn: (file) => open(BUILT_IN, file),
    source: async (file) => (await open(folder, file)) ?? open(BUILT_IN, file),
    async languages(name) {
      const stems = await Promise.all([stemsOf(folder, '.html'), stemsOf(folder, '.txt')])
      return stems
        .flat()
        .filter((stem) => stem.startsWith(`${name}.`))
        .map((stem) => stem.slice(name.length + 1))
        .filter(isLanguage)
    },
  }
}

/** Splits a template into the subject of its front matter and its body. @throws StartError if there is no subject */
export function split({ file, text }: Pick<TemplateSource, 'file' | 'text'>): {
  subject: string
  body: string
} {
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

/** Parses a file. @throws StartError with a line for its author */
export function read(file: string, text: string): Template {
  try {
    return readTemplate(text)
  } catch (error) {
    throw new StartError(`${file}: ${(error as Error).message}`, { cause: error })
  }
}

/** Parses the layout. @throws StartError as `read` does, and if it does not show the content */
export function readLayout({ file, text }: Pick<TemplateSource, 'file' | 'text'>): Template {
  if (!/\{\{(\{\s*content\s*\}|&\s*content\s*)\}\}/.test(text))
    throw new StartError(`${file}: {{{content}}} is missing: add it where the content of the email goes`)
  return read(file, text)
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
}
