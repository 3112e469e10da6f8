import { addressOf, addressWithQuery, queryText, type SampleCall } from './call.ts'
import { jsonLiteral } from './literal.ts'

/** One word of a POSIX shell. */
const word = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

/** A parameter that curl encodes, unless it has what no argument can have. */
const parameter = (name: string, value: string): string =>
  value.includes('\0')
    ? `-d ${word(`${encodeURIComponent(name)}=${encodeURIComponent(value)}`)}`
    : `--data-urlencode ${word(`${encodeURIComponent(name)}=${value}`)}`

const OUTPUTS: Partial<Record<SampleCall['answer'], string>> = {
  bytes: '-o answer',
  page: String.raw`-o /dev/null -w '%{redirect_url}\n'`,
}

/** A request for a POSIX shell that has the access token in `TOKEN`. */
export default function curl(call: SampleCall): string {
  const { method, query, body, file, hasToken, answer } = call
  // Without -G what is encoded here would be the body.
  const parameters = method === 'GET' ? Object.entries(query) : []
  const flags = `-s${answer === 'events' ? 'N' : ''}${parameters.length > 0 ? 'G' : ''}`
  const hasOwnMethod = method !== (body !== undefined || file ? 'POST' : 'GET')
  const url = word(method === 'GET' ? addressOf(call) : addressWithQuery(call))
  return [
    `curl ${flags} ${hasOwnMethod ? `-X ${method} ` : ''}${url}`,
    ...(hasToken ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...parameters.map(([name, value]) => parameter(name, queryText(value))),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${word(jsonLiteral(body))}`]),
    ...Object.entries(file?.fields ?? {}).map(
      ([name, value]) =>
        `--form-string ${word(`${name}=${typeof value === 'string' ? value : jsonLiteral(value)}`)}`,
    ),
    ...(file ? [`-F ${word(`${file.field}=@${file.name};type=${file.type}`)}`] : []),
    ...(OUTPUTS[answer] ? [OUTPUTS[answer]] : []),
  ].join(' \\\n  ')
}
