import { queryText, type SampleValue, type SampleFields, type SampleCall } from './call.ts'
import { literal, quoted, type ValueSyntax } from './literal.ts'

const text = (value: string): string => quoted(value, "'")

/** A value of the path: `fetch` refuses half a surrogate pair. */
const segment = (value = ''): string => text(value.toWellFormed())

/** `{ '__proto__': … }` would set the prototype. */
const keyOf = (name: string): string =>
  name === '__proto__' ? `['__proto__']` : /^[A-Za-z_$][\w$]*$/.test(name) ? name : text(name)

const SYNTAX: ValueSyntax = {
  text,
  key: keyOf,
  words: ['null', 'true', 'false'],
  indent: '  ',
  hasLastComma: true,
  isSpaced: true,
}

const value = (of: SampleValue, column = 24): string => literal(of, SYNTAX, column)

const isObject = (of: SampleValue | undefined): of is SampleFields =>
  typeof of === 'object' && of !== null && !Array.isArray(of)

const texts = (of: SampleFields): of is Record<string, string> =>
  Object.values(of).every((one) => typeof one === 'string')

const has = (of: SampleFields, ...names: string[]): boolean =>
  Object.keys(of).toSorted().join() === names.toSorted().join()

/** `name = expression`, and what is shown of it. */
const shown = (name: string, expression: string): string =>
  `const ${name} = await ${expression}\nconsole.log(${name.startsWith('{') ? name.slice(2, -2) : name})`

const collection = ({ params }: SampleCall): string => `six.collection(${segment(params['collection'])})`

const OF_SERVER = new Set(['_id', 'createdAt', 'updatedAt'])

/** The type of the fields that a query names, so that it compiles without the types of the server. */
function fieldTypes({ filter, sort, fields }: SampleFields): string {
  const named = [sort, fields].flatMap((of) => (typeof of === 'string' ? of.split(',') : []))
  const types = new Map<string, string>(named.map((name) => [name.replace(/^-/, ''), 'unknown']))
  for (const [name, one] of isObject(filter) ? Object.entries(filter) : []) {
    const compared = isObject(one) ? Object.values(one)[0] : one
    const type = typeof compared
    types.set(name, ['string', 'number', 'boolean'].includes(type) ? type : 'unknown')
  }
  const own = [...types].filter(([name]) => !OF_SERVER.has(name) && !/^\$|\./.test(name))
  return own.length > 0 ? `<{ ${own.map(([name, type]) => `${keyOf(name)}: ${type}`).join('; ')} }>` : ''
}

const HANDLERS = `{
  ready: () => console.log('ready'),
  put: (document) => console.log('put', document),
  gone: (id) => console.log('gone', id),
  reset: () => console.log('reset'),
}`

/** The query of a list, whose filter is an object and whose fields are a list; undefined if the filter is none. */
function listQuery(query: SampleFields): { types: string; text: string } | undefined {
  const list = (of: SampleValue) => (typeof of === 'string' && of.includes(',') ? of.split(',') : of)
  const { sort, fields } = query
  const filter = typeof query['filter'] === 'string' ? parsed(query['filter']) : query['filter']
  if ('filter' in query && !isObject(filter)) return undefined
  const all: SampleFields = {
    ...queryOf(query),
    ...(filter !== undefined && { filter }),
    ...(sort !== undefined && { sort: list(sort) }),
    ...(typeof fields === 'string' && { fields: fields.split(',') }),
  }
  return {
    types: fieldTypes({ ...query, ...(filter !== undefined && { filter }) }),
    text: Object.keys(all).length > 0 ? value(all, 52) : '',
  }
}

function parsed(text: string): SampleValue | undefined {
  try {
    return JSON.parse(text) as SampleValue
  } catch {
    return undefined
  }
}

/** The functions of the client that are shorter than a call of the route, if they take what the call has. */
const FUNCTIONS: Readonly<Record<string, (call: SampleCall) => string | undefined>> = {
  'GET /store/:collection': (call) => {
    const query = listQuery(call.query)
    const name = segment(call.params['collection'])
    return query && shown('{ data }', `six.collection${query.types}(${name}).list(${query.text})`)
  },
  'GET /store/:collection/:id': (call) =>
    shown('document', `${collection(call)}.get(${segment(call.params['id'])})`),
  'POST /store/:collection': (call) => {
    const { body, file } = call
    if (file) {
      const files = `{ files: { ${keyOf(file.field)}: file } }`
      return shown('document', `${collection(call)}.create(${value(file.fields['_json'] ?? {})}, ${files})`)
    }
    return isObject(body) ? shown('document', `${collection(call)}.create(${value(body)})`) : undefined
  },
  'PUT /store/:collection/:id': (call) =>
    isObject(call.body)
      ? shown(
          'document',
          `${collection(call)}.update(${segment(call.params['id'])}, ${value(call.body, 40)})`,
        )
      : undefined,
  'PATCH /store/:collection/:id': (call) =>
    isObject(call.body)
      ? shown('document', `${collection(call)}.patch(${segment(call.params['id'])}, ${value(call.body, 40)})`)
      : undefined,
  'DELETE /store/:collection/:id': (call) =>
    `await ${collection(call)}.remove(${segment(call.params['id'])})`,
  'GET /store/changes': ({ query: { collection: name, ...query } }) => {
    const watched = listQuery(query)
    return typeof name === 'string' && watched
      ? `six.collection${watched.types}(${text(name)}).watch(${watched.text || '{}'}, ${HANDLERS})`
      : undefined
  },
  'POST /store/upload': ({ file }) =>
    file && has(file.fields) ? shown('record', 'six.upload(file)') : undefined,
  'POST /auth/register': ({ body }) =>
    isObject(body) ? shown('user', `six.auth.signUp(${value(body)})`) : undefined,
  'POST /auth/login': ({ body }) =>
    isObject(body) && has(body, 'email', 'password')
      ? shown('user', `six.auth.signIn(${value(body)})`)
      : undefined,
  'POST /auth/magic-link': ({ body }) =>
    isObject(body) && has(body, 'email') && texts(body)
      ? `await six.auth.sendMagicLink(${text(body['email']!)})`
      : undefined,
}

/** The other functions take no query. */
const WITH_QUERY = new Set(['GET /store/:collection', 'GET /store/changes'])

/** A query of a route is text, where it is no number or boolean. */
const queryOf = (query: SampleFields): SampleFields =>
  Object.fromEntries(
    Object.entries(query).map(([name, one]) => [
      name,
      typeof one === 'object' || typeof one === 'string' ? queryText(one) : one,
    ]),
  )

function general(call: SampleCall): string {
  const { method, path, params, query, body, file, answer } = call
  const route = text(`${method} ${path}`)
  const names = Array.from(path.matchAll(/:(\w+)/g), ([, name]) => name!)
  const input = [
    ...(names.length > 0
      ? [
          `params: ${value(Object.fromEntries(names.map((name) => [name, (params[name] ?? '').toWellFormed()])))}`,
        ]
      : []),
    ...(Object.keys(query).length > 0 ? [`query: ${value(queryOf(query))}`] : []),
    ...(body === undefined ? [] : [`body: ${value(body)}`]),
    ...(file ? ['body: form'] : []),
  ]
  const one = `{ ${input.join(', ')} }`
  const isLong = one.includes('\n') || route.length + one.length > 72
  const inputText = isLong
    ? `{\n${input.map((part) => `  ${part.replaceAll('\n', '\n  ')},`).join('\n')}\n}`
    : one
  const given = `(${route}${input.length > 0 ? `, ${inputText}` : ''})`
  if (answer === 'events')
    return `const { body } = await six.raw${given}
for await (const text of body!.pipeThrough(new TextDecoderStream())) console.log(text)`
  return answer === 'nothing' ? `await six.call${given}` : shown('answer', `six.call${given}`)
}

const formOf = ({ field, fields }: NonNullable<SampleCall['file']>): string =>
  `const form = new FormData()
${Object.entries(fields)
  .map(
    ([name, one]) =>
      `form.set(${text(name)}, ${typeof one === 'string' ? text(one) : `JSON.stringify(${value(one, 40)})`})\n`,
  )
  .join('')}form.set(${text(field)}, file)\n`

/** A program with the client, in a module of Node. */
export default function typescript(call: SampleCall): string {
  const { baseUrl, method, path, file, hasToken, answer } = call
  if (answer === 'page') {
    const query = new URLSearchParams(queryOf(call.query) as Record<string, string>).toString()
    const filled = path.replaceAll(/:(\w+)/g, (_, name: string) =>
      encodeURIComponent(call.params[name] ?? ''),
    )
    return `location.href = ${text(baseUrl + filled + (query && `?${query}`))}`
  }
  const route = `${method} ${path}`
  const own = has(call.query) || WITH_QUERY.has(route) ? FUNCTIONS[route]?.(call) : undefined
  const needsForm = file && own === undefined
  return `${file ? "import { readFile } from 'node:fs/promises'\n" : ''}import { createClient } from 'sixwire-client'

const six = createClient(${text(baseUrl)}${hasToken ? ', { token: process.env.TOKEN }' : ''})
${file ? `const file = new File([await readFile(${text(file.name)})], ${text(file.name)}, { type: ${text(file.type)} })\n` : ''}${needsForm ? formOf(file) : ''}${own ?? general(call)}`
}
