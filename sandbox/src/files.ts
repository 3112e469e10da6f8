import { readFile, readdir } from 'node:fs/promises'
import { extname } from 'node:path'

import type { FastifyPluginAsync } from 'fastify'

import { html } from './html.ts'

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * Serves the files of a folder, and its `index.html` as a page.
 *
 * @param options.at the path of the files, below the sandbox
 * @param options.pages the paths of the page
 * @param options.words the values of `{{word}}` in the page
 * @param options.policy the content security policy of all of them
 */
export const createFiles =
  (options: {
    folder: URL
    at: string
    pages: readonly string[]
    words: Readonly<Record<string, string>>
    policy: string
  }): FastifyPluginAsync =>
  async (engine) => {
    const { folder } = options
    for (const name of await readdir(folder)) {
      const type = TYPES[extname(name)]
      if (type === undefined) continue
      const text = await readFile(new URL(name, folder), 'utf8')
      const isPage = name === 'index.html'
      const content = isPage
        ? text.replaceAll(/\{\{(\w+)\}\}/g, (whole, word: string) => {
            const value = options.words[word]
            return value === undefined ? whole : html`${value}`.text
          })
        : text
      for (const address of isPage ? options.pages : [`${options.at}/${name}`])
        engine.get(address, async (_request, reply) =>
          reply
            .headers({
              'content-type': type,
              'content-security-policy': options.policy,
              'cache-control': 'no-cache',
            })
            .send(content),
        )
    }
  }
