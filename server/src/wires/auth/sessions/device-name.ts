// The first that fits: most browsers name others too, for old servers' sake.
// https://developer.mozilla.org/en-US/docs/Web/HTTP/Guides/Browser_detection_using_the_user_agent
const BROWSERS: readonly [RegExp, string][] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|CriOS|Chromium|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const SYSTEMS: readonly [RegExp, string][] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\b(Macintosh|Mac OS X)\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

const nameAmong = (rules: readonly [RegExp, string][], userAgent: string): string | undefined =>
  rules.find(([pattern]) => pattern.test(userAgent))?.[1]

/**
 * A device in words: `Firefox on Linux`. It never quotes the user agent, because the client that signs in would choose the
 * text of an email to the owner of the account.
 */
export function deviceName(userAgent: string): string {
  const browser = nameAmong(BROWSERS, userAgent)
  const system = nameAmong(SYSTEMS, userAgent)
  if (browser === undefined && system === undefined) return 'an app or a program'
  return `${browser ?? 'an app'}${system === undefined ? '' : ` on ${system}`}`
}
