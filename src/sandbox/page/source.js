import { make } from './dom.js'
import { tabs } from './tabs.js'

const pre = (text) => make('pre', { class: 'source', tabindex: 0 }, text)

/** A body as it is sent, with line breaks, and its headers. */
export const source = (label, body, headers) =>
  tabs(label, [
    ['Body', () => pre(indented(body))],
    headers && [
      'Headers',
      () =>
        pre(
          Object.entries(headers)
            .map(([name, value]) => `${name}: ${value}`)
            .join('\n'),
        ),
    ],
  ])

function indented(json) {
  try {
    return JSON.stringify(JSON.parse(json), undefined, 2)
  } catch {
    return json
  }
}
