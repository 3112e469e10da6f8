import {
  addressOf,
  addressWithQuery,
  dispositionOf,
  queryText,
  type SampleValue,
  type SampleCall,
  type SampleFile,
} from './call.ts'
import { jsonLiteral } from './literal.ts'

/**
 * A text in a raw string. Its delimiter has one `#` more than follow each other in the text, so that nothing in it ends the
 * string or begins an escape.
 */
function raw(text: string, isLong = text.includes('\n')): string {
  const longest = Math.max(-1, ...Array.from(text.matchAll(/#*/g), ([run]) => run.length))
  const hashes = '#'.repeat(longest + 1)
  return isLong ? `${hashes}"""\n${text}\n"""${hashes}` : `${hashes}"${text}"${hashes}`
}

/** A text of one line. */
export function swiftText(text: string): string {
  const isPlain = /^[^"\\\p{C}\u2028\u2029]*$/u.test(text)
  if (isPlain) return `"${text}"`
  // Line ends cannot be in a string of one line, and other invisible characters should not.
  return `"${Array.from(text.toWellFormed(), (one) =>
    /["\\]/.test(one)
      ? `\\${one}`
      : one === '\r'
        ? String.raw`\r`
        : one === '\n'
          ? String.raw`\n`
          : /[\p{C}\u2028\u2029]/u.test(one)
            ? `\\u{${one.codePointAt(0)!.toString(16)}}`
            : one,
  ).join('')}"`
}

/** JSON in a raw string. */
export const swiftJson = (value: SampleValue): string => {
  const json = jsonLiteral(value)
  return raw(json, json.includes('\n') || json.startsWith('"'))
}

const field = (value: SampleValue): string =>
  typeof value === 'object' ? raw(jsonLiteral(value, -Infinity)) : swiftText(queryText(value))

function urlLines(call: SampleCall): string {
  const parameters = Object.entries(call.query)
  // URLQueryItem leaves a + as it is, which a server takes for a blank.
  const isInline = parameters.some(([, value]) => queryText(value).includes('+'))
  if (isInline || parameters.length === 0)
    return `let url = URL(string: ${swiftText(addressWithQuery(call))})!`
  const items = parameters.map(
    ([name, value]) => `    URLQueryItem(name: ${swiftText(name)}, value: ${field(value)}),\n`,
  )
  return `let url = URL(string: ${swiftText(addressOf(call))})!.appending(queryItems: [
${items.join('')}])`
}

const formLines = (file: SampleFile): string[] => [
  'let boundary = UUID().uuidString',
  'var form = Data()',
  ...Object.entries(file.fields).flatMap(([name, value]) => [
    String.raw`form += Data("--\(boundary)\r\n".utf8)`,
    `form += Data(${swiftText(`Content-Disposition: form-data; name="${name}"\r\n\r\n`)}.utf8)`,
    `form += Data(${typeof value === 'object' ? swiftJson(value) : swiftText(queryText(value))}.utf8)`,
    String.raw`form += Data("\r\n".utf8)`,
  ]),
  String.raw`form += Data("--\(boundary)\r\n".utf8)`,
  `form += Data(${swiftText(`${dispositionOf(file)}\r\nContent-Type: ${file.type}\r\n\r\n`)}.utf8)`,
  `form += try Data(contentsOf: URL(fileURLWithPath: ${swiftText(file.name)}))`,
  String.raw`form += Data("\r\n--\(boundary)--\r\n".utf8)`,
]

const SEND: Partial<Record<SampleCall['answer'], string>> = {
  nothing: `let (_, response) = try await URLSession.shared.data(for: request)
print((response as! HTTPURLResponse).statusCode)`,
  bytes: `let (data, _) = try await URLSession.shared.data(for: request)
print(data.count)`,
  events: `let (bytes, _) = try await URLSession.shared.bytes(for: request)
for try await line in bytes.lines {
    print(line)
}`,
}

const SHOW = `let (data, _) = try await URLSession.shared.data(for: request)
print(String(decoding: data, as: UTF8.self))`

/** A request with URLSession. */
export default function swift(call: SampleCall): string {
  const { method, body, file, hasToken, answer } = call
  if (answer === 'page') return `import UIKit\n\n${urlLines(call)}\nawait UIApplication.shared.open(url)`
  const header = (value: string, name: string) => `request.setValue(${value}, forHTTPHeaderField: "${name}")`
  return [
    'import Foundation\n',
    ...(hasToken ? ['let token = "TOKEN" // of a sign-in, or a service key'] : []),
    urlLines(call),
    ...(file ? formLines(file) : []),
    'var request = URLRequest(url: url)',
    ...(method === 'GET' ? [] : [`request.httpMethod = "${method}"`]),
    ...(hasToken ? [header(String.raw`"Bearer \(token)"`, 'Authorization')] : []),
    ...(body === undefined ? [] : [header('"application/json"', 'Content-Type')]),
    ...(body === undefined ? [] : [`request.httpBody = Data(${swiftJson(body)}.utf8)`]),
    ...(file
      ? [
          header(String.raw`"multipart/form-data; boundary=\(boundary)"`, 'Content-Type'),
          'request.httpBody = form',
        ]
      : []),
    SEND[answer] ?? SHOW,
  ].join('\n')
}
