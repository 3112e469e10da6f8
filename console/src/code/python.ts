import {
  addressOf,
  dispositionOf,
  queryText,
  type SampleValue,
  type SampleCall,
  type SampleFile,
} from './call.ts'
import { jsonText, literal, type ValueSyntax } from './literal.ts'

const SYNTAX: ValueSyntax = {
  text: jsonText,
  words: ['None', 'True', 'False'],
  indent: '    ',
  hasLastComma: true,
  isSpaced: false,
}

const dumps = (value: SampleValue, column: number, depth: number): string =>
  `json.dumps(${literal(value, SYNTAX, column, depth)})`

/** A value of the query or of a form: numbers and texts as they are. */
const field = (value: SampleValue, depth: number): string =>
  typeof value === 'object' && value !== null
    ? dumps(value, 40, depth)
    : typeof value === 'number'
      ? JSON.stringify(value)
      : jsonText(queryText(value))

const pairs = (of: Readonly<Record<string, SampleValue>>): string =>
  `{${Object.entries(of)
    .map(([name, value]) => `${jsonText(name)}: ${field(value, 0)}`)
    .join(', ')}}`

const PRINT: Record<SampleCall['answer'], readonly string[]> = {
  json: ['print(json.load(response))'],
  text: ['print(response.read().decode())'],
  bytes: ['print(len(response.read()))'],
  nothing: ['print(response.status)'],
  events: ['for line in response:', '    print(line.decode(), end="")'],
  page: [],
}

/** The body of a form with a file, which the standard library does not write. */
const formOf = (file: SampleFile): string =>
  `boundary = uuid.uuid4().hex
fields = ${pairs(file.fields)}
with open(${jsonText(file.name)}, "rb") as file:
    content = file.read()
form = "".join(
    f'--{boundary}\\r\\nContent-Disposition: form-data; name="{name}"\\r\\n\\r\\n{value}\\r\\n'
    for name, value in fields.items()
) + f"--{boundary}\\r\\n"
form += ${jsonText(`${dispositionOf(file)}\r\n`)}
form += ${jsonText(`Content-Type: ${file.type}\r\n\r\n`)}
form = form.encode() + content + f"\\r\\n--{boundary}--\\r\\n".encode()
`

/** A program of the standard library of Python 3 that has the access token in the environment. */
export default function python(call: SampleCall): string {
  const { method, query, body, file, hasToken, answer } = call
  const hasQuery = Object.keys(query).length > 0
  const url = jsonText(addressOf(call) + (hasQuery ? '?' : '')) + (hasQuery ? ' + query' : '')
  const queryLine = hasQuery ? `query = urllib.parse.urlencode(${pairs(query)})\n` : ''
  if (answer === 'page')
    return `import webbrowser\n${hasQuery ? 'import urllib.parse\n' : ''}\n${queryLine}webbrowser.open(${url})`
  const headers = [
    ...(hasToken ? [`"Authorization": "Bearer " + os.environ["TOKEN"]`] : []),
    ...(body === undefined ? [] : ['"Content-Type": "application/json"']),
    ...(file ? ['"Content-Type": f"multipart/form-data; boundary={boundary}"'] : []),
  ]
  const data = file
    ? 'form'
    : body === undefined
      ? undefined
      : `${dumps(body, '    data=json.dumps().encode(),'.length, 1)}.encode()`
  const parts = [
    url,
    ...(method === 'GET' ? [] : [`method="${method}"`]),
    ...(headers.length > 1
      ? [`headers={\n        ${headers.join(',\n        ')},\n    }`]
      : headers.map((one) => `headers={${one}}`)),
    ...(data === undefined ? [] : [`data=${data}`]),
  ]
  const text = `${file ? formOf(file) : ''}${queryLine}request = urllib.request.Request(
    ${parts.join(',\n    ')},
)
with urllib.request.urlopen(request) as response:
    ${PRINT[answer].join('\n    ')}`
  const modules = ['json', 'os', 'urllib.parse', 'urllib.request', 'uuid']
  return `${modules
    .filter((name) => text.includes(`${name}.`))
    .map((name) => `import ${name}\n`)
    .join('')}\n${text}`
}
