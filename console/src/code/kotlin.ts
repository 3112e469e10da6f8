import { addressOf, queryText, type SampleValue, type SampleCall, type SampleFile } from './call.ts'
import { jsonLiteral, quoted } from './literal.ts'

const text = (value: string): string => quoted(value, '"', '$')

/** JSON in a raw string, in which only `$` means something: JSON never has three quotes in a row. */
export const rawJson = (value: SampleValue, depth: number): string => {
  const json = jsonLiteral(value, 24, depth).replaceAll('$', () => "${'$'}")
  return `"""${json.startsWith('"') ? ` ${json} ` : json}"""`
}

const field = (value: SampleValue, depth: number): string =>
  typeof value === 'object' ? rawJson(value, depth) : text(queryText(value))

const formOf = ({ field: name, name: fileName, type, fields }: SampleFile): string =>
  `val form = MultipartBody.Builder().setType(MultipartBody.FORM)
${Object.entries(fields)
  .map(([key, value]) => `    .addFormDataPart(${text(key)}, ${field(value, 1)})\n`)
  .join(
    '',
  )}    .addFormDataPart(${text(name)}, ${text(fileName)}, File(${text(fileName)}).asRequestBody(${text(type)}.toMediaType()))
    .build()
`

/** The function of the builder that sets the method. */
function verb({ method, body, file }: SampleCall): string {
  const content = file
    ? 'form'
    : body === undefined
      ? undefined
      : 'body.toRequestBody("application/json".toMediaType())'
  if (method === 'GET') return ''
  const needsBody = method !== 'DELETE'
  return `    .${method.toLowerCase()}(${content ?? (needsBody ? '"".toRequestBody()' : '')})\n`
}

const IMPORTS: readonly (readonly [used: string, name: string])[] = [
  ['File(', 'java.io.File'],
  ['Duration', 'java.time.Duration'],
  ['toHttpUrl(', 'okhttp3.HttpUrl.Companion.toHttpUrl'],
  ['toMediaType(', 'okhttp3.MediaType.Companion.toMediaType'],
  ['MultipartBody', 'okhttp3.MultipartBody'],
  ['OkHttpClient', 'okhttp3.OkHttpClient'],
  ['Request.', 'okhttp3.Request'],
  ['asRequestBody(', 'okhttp3.RequestBody.Companion.asRequestBody'],
  ['toRequestBody(', 'okhttp3.RequestBody.Companion.toRequestBody'],
]

const STREAM = `    val events = response.body!!.source()
    while (!events.exhausted()) println(events.readUtf8Line())`

/** A request with OkHttp, for Android and the JVM. */
export default function kotlin(call: SampleCall): string {
  const { query, file, hasToken, answer } = call
  const parameters = Object.entries(query)
  const url =
    text(addressOf(call)) +
    (parameters.length > 0 ? '.toHttpUrl().newBuilder()\n' : '') +
    parameters
      .map(([name, value]) => `    .addQueryParameter(${text(name)}, ${field(value, 1)})\n`)
      .join('') +
    (parameters.length > 0 ? '    .build()' : '')
  if (answer === 'page')
    return `import android.content.Intent
import android.net.Uri
${parameters.length > 0 ? 'import okhttp3.HttpUrl.Companion.toHttpUrl\n' : ''}
val url = ${url}
startActivity(Intent(Intent.ACTION_VIEW, Uri.parse(url${parameters.length > 0 ? '.toString()' : ''})))`
  const isStream = answer === 'events'
  const code = `${hasToken ? 'val token = "TOKEN" // of a sign-in, or a service key\n' : ''}${file ? formOf(file) : ''}${call.body === undefined ? '' : `val body = ${rawJson(call.body, 0)}\n`}val url = ${url}
val request = Request.Builder()
    .url(url)
${hasToken ? '    .header("Authorization", "Bearer $token")\n' : ''}${verb(call)}    .build()
${
  isStream
    ? '// The server sends a sign each 15 seconds, which is longer than OkHttp waits.\nval client = OkHttpClient.Builder().readTimeout(Duration.ZERO).build()\n'
    : 'val client = OkHttpClient()\n'
}client.newCall(request).execute().use { response ->
${isStream ? STREAM : `    println(response.${answer === 'nothing' ? 'code' : answer === 'bytes' ? 'body!!.bytes().size' : 'body!!.string()'})`}
}`
  const imports = IMPORTS.filter(([used]) => code.includes(used)).map(([, name]) => `import ${name}\n`)
  return `${imports.join('')}\n${code}`
}
