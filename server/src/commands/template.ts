import { readFile } from 'node:fs/promises'

import type { Static } from 'typebox'

import { loadConfig } from '../app.ts'
import { loadSettings } from '../kernel/config/config.ts'
import { StartError } from '../base/start-error.ts'
import { messaging, openTemplates, type MessagingOptions, type Templates } from '../wires/messaging/index.ts'
import { checkOptions } from '../kernel/wire/options.ts'
import { defineAction, type CommandGroup } from './command.ts'
import { JSON_OPTION } from './option.ts'
import { print } from './print.ts'

export const template: CommandGroup = {
  summary: 'List the templates of mails and texts, and preview one',
  actions: {
    list: defineAction({
      summary: 'List the files of the templates folder and the built-in ones',
      options: JSON_OPTION,
      async run({ options: { json } }) {
        const { templates } = await open()
        const names = [...(await templates.names()), ...(await templates.textNames())].toSorted()
        print(json, names, () => names.join('\n'))
        return 0
      },
    }),
    preview: defineAction({
      summary: 'Print the subject and the text of a mail, or an SMS',
      words: ['NAME'],
      options: {
        data: {
          value: 'JSON',
          description: `the values, '{"name":"Ada"}', or @FILE to read them from a file`,
        },
        html: { description: 'print its HTML alone' },
        ...JSON_OPTION,
      },
      details: 'Without --data, it is shown with example values.',
      async run({ words: [name], options: { data, html, json } }) {
        const values = data === undefined ? undefined : await readValues(data)
        const { templates } = await open()
        const shown = values ?? (await templates.describe(name))?.sample ?? {}
        if ((await templates.textNames()).includes(name)) {
          const text = await templates.renderText(name, shown, { at: '/data' })
          print(json, { text }, () => text)
          return 0
        }
        const mail = await templates.render(name, shown, { at: '/data' })
        print(json, mail, () => (html ? mail.html : `Subject: ${mail.subject}\n\n${mail.text}`))
        return 0
      },
    }),
  },
  details: 'Nothing is sent, and no database is opened.',
}

async function open(): Promise<{ templates: Templates }> {
  const folder = process.cwd()
  const config = await loadConfig(folder)
  const settings = await loadSettings(config, process.env, folder)
  const wire = messaging(config.messaging ?? {})
  const options = checkOptions([wire]).get(wire) as Static<typeof MessagingOptions>
  return { templates: openTemplates(settings, options) }
}

async function readValues(input: string): Promise<Record<string, unknown>> {
  const file = input.startsWith('@') ? input.slice(1) : undefined
  const text =
    file === undefined
      ? input
      : await readFile(file, 'utf8').catch((error: unknown) => {
          throw new StartError(`--data: ${file} can't be read: ${(error as Error).message}`)
        })
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch (error) {
    throw new StartError(`--data: this is not JSON: ${(error as Error).message}`)
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data))
    throw new StartError(`--data: write an object, like {"name":"Ada"}`)
  return data as Record<string, unknown>
}
