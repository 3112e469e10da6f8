// Types that a browser shows or plays and does not run. SVG, XML and HTML are not among them: they hold scripts. Neither
// is PDF: a browser's viewer does not start under the `sandbox` policy of these answers.
const SHOWN = new Set([
  'text/plain',
  'image/apng',
  'image/avif',
  'image/bmp',
  'image/gif',
  'image/jpeg',
  'image/png',
  'image/webp',
  'image/x-icon',
])
// XML has a plus sign: video/…+xml.
const PLAYED = /^(?:audio|video)\/[\w.-]+$/

/** Whether a browser plays it, rather than showing it. */
export const isPlayed = (contentType: string): boolean => PLAYED.test(contentType)

/**
 * The `Content-Disposition` of a file, RFC 6266: inline if a browser may show it, else an attachment.
 *
 * @param contentType without parameters
 * @param name any text
 */
export function dispositionOf(contentType: string, name: string, isDownload: boolean): string {
  const isShown = !isDownload && (SHOWN.has(contentType) || isPlayed(contentType))
  return `${isShown ? 'inline' : 'attachment'}; ${fileNameOf(name)}`
}

/** RFC 6266, section 4.3 and appendix D: names that are not plain ASCII are given in both forms. */
function fileNameOf(name: string): string {
  // A percent sign, quotation mark or backslash is read in different ways by different browsers.
  const plain = name.replaceAll(/[^ -~]/gu, '_').replaceAll(/["%\\/]/g, '_')
  return plain === name ? `filename="${name}"` : `filename="${plain}"; filename*=UTF-8''${extValueOf(name)}`
}

/** RFC 8187, section 3.2.1. */
const extValueOf = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
