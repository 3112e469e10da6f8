import type { FormatCallback, HtmlToTextOptions, SelectorDefinition } from 'html-to-text'

const HEADINGS = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6']
const HIDDEN = [
  'head',
  'template',
  'noscript',
  '[hidden]',
  '[style*="display:none" i]',
  '[style*="display: none" i]',
]
/** Links of other kinds lead nowhere from a plain text. */
const LINKS = ['a[href^="http:" i]', 'a[href^="https:" i]', 'a[href^="mailto:" i]', 'a[href^="tel:" i]']

/** Deeper elements are left out; each level is one of recursion. */
const LARGEST_DEPTH = 200

const description: FormatCallback = ({ attribs }, _walk, builder) => {
  builder.addInline((attribs as { alt?: string }).alt ?? '')
}

const cell: FormatCallback = ({ children }, walk, builder) => {
  walk(children, builder)
  builder.addInline(' ')
}

const OPTIONS: HtmlToTextOptions = {
  wordwrap: false,
  limits: { maxDepth: LARGEST_DEPTH },
  formatters: { description, cell },
  selectors: [
    ...HEADINGS.map((selector): SelectorDefinition => ({ selector, options: { uppercase: false } })),
    ...HIDDEN.map((selector): SelectorDefinition => ({ selector, format: 'skip' })),
    { selector: 'a', format: 'inline' },
    ...LINKS.map((selector): SelectorDefinition => ({
      selector,
      format: 'anchor',
      options: { linkBrackets: ['<', '>'], hideLinkHrefIfSameAsText: true },
    })),
    { selector: 'img', format: 'description' },
    { selector: 'ul', options: { itemPrefix: '- ' } },
    { selector: 'hr', options: { length: 2 } },
    { selector: 'tr', format: 'block', options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
    { selector: 'td', format: 'cell' },
    { selector: 'th', format: 'cell' },
  ],
}

/** The library looks through all elements that are open for each one that begins: of 200,000 that takes a minute. */
const OPEN_MAX = 2_000
/** Those that have no end, so that they are never open. */
const VOID = new Set([
  'area',
  'base',
  'br',
  'col',
  'embed',
  'hr',
  'img',
  'input',
  'link',
  'meta',
  'source',
  'track',
  'wbr',
])

/** Whether more elements are open at once than a plain text can be made of; one without its end stays open. */
export function hasTooManyOpen(html: string): boolean {
  let open = 0
  for (const [, end, name] of html.matchAll(/<(\/?)([a-z][a-z\d]*)/gi)) {
    if (VOID.has(name!.toLowerCase())) continue
    open = end === '/' ? Math.max(0, open - 1) : open + 1
    if (open > OPEN_MAX) return true
  }
  return false
}

let compiled: Promise<(html: string) => string> | undefined

/** Loaded with the first mail: a start does not wait for it. */
const load = async () => (await import('html-to-text')).compile(OPTIONS)

/**
 * The plain text of a mail's HTML, for readers without HTML: links as `words <address>`, list items as `- `, images as their
 * descriptions; what is not shown (`<style>`, `display:none`) is left out.
 */
export const plainText = async (html: string): Promise<string> => (await (compiled ??= load()))(html).trim()
