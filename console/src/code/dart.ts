import { addressOf, queryText, type SampleValue, type SampleCall, type SampleFile } from './call.ts'
import { literal, quoted, type ValueSyntax } from './literal.ts'

const text = (value: string): string => quoted(value, "'", '$')

const SYNTAX: ValueSyntax = {
  text,
  // An integer beyond 64 bits does not compile.
  number: (value) =>
    Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : JSON.stringify(value),
  words: ['null', 'true', 'false'],
  indent: '  ',
  hasLastComma: true,
  isSpaced: false,
}

const encoded = (value: SampleValue, depth: number): string =>
  `jsonEncode(${literal(value, SYNTAX, 24, depth)})`

const field = (value: SampleValue, depth: number): string =>
  typeof value === 'object' ? encoded(value, depth) : text(queryText(value))

function urlOf(call: SampleCall): string {
  const parameters = Object.entries(call.query)
  const base = `Uri.parse(${text(addressOf(call))})`
  if (parameters.length === 0) return base
  const pairs = parameters.map(([name, value]) => `    ${text(name)}: ${field(value, 2)},\n`)
  return `${base}.replace(queryParameters: {\n${pairs.join('')}  })`
}

const headersOf = ({ hasToken, body }: SampleCall): string[] => [
  ...(hasToken ? [`'authorization': 'Bearer $token'`] : []),
  ...(body === undefined ? [] : [`'content-type': 'application/json'`]),
]

const PRINT: Partial<Record<SampleCall['answer'], string>> = {
  nothing: 'response.statusCode',
  bytes: 'response.bodyBytes.length',
}

function plain(call: SampleCall): string {
  const { method, body, answer } = call
  const headers = headersOf(call)
  const parts = [
    'url',
    ...(headers.length > 0 ? [`headers: {${headers.join(', ')}}`] : []),
    ...(body === undefined ? [] : [`body: ${encoded(body, 2)}`]),
  ]
  return `  final response = await http.${method.toLowerCase()}(
    ${parts.join(',\n    ')},
  );
  print(${PRINT[answer] ?? 'response.body'});`
}

function withFile(call: SampleCall, { field: name, name: fileName, fields }: SampleFile): string {
  const lines = [
    ...headersOf({ ...call, body: undefined }).map((one) => `headers.addAll({${one}})`),
    ...Object.entries(fields).map(([key, value]) => `fields[${text(key)}] = ${field(value, 2)}`),
    `files.add(await http.MultipartFile.fromPath(${text(name)}, ${text(fileName)}))`,
  ]
  return `  final request = http.MultipartRequest('${call.method}', url)
${lines.map((line) => `    ..${line}`).join('\n')};
  final response = await http.Response.fromStream(await request.send());
  print(response.body);`
}

const stream = (call: SampleCall): string =>
  `  final request = http.Request('${call.method}', url)..headers.addAll({${headersOf(call).join(', ')}});
  final response = await http.Client().send(request);
  final lines = response.stream.transform(utf8.decoder).transform(const LineSplitter());
  await for (final line in lines) {
    print(line);
  }`

/** A program with `package:http`, for Flutter and the command line. */
export default function dart(call: SampleCall): string {
  const { hasToken, file, answer } = call
  const isPage = answer === 'page'
  const work = isPage
    ? '  await launchUrl(url);'
    : file
      ? withFile(call, file)
      : answer === 'events'
        ? stream(call)
        : plain(call)
  const code = `  final url = ${urlOf(call)};\n${work}`
  const needsConvert = /\b(?:jsonEncode|utf8)\b/.test(code)
  return `${needsConvert ? "import 'dart:convert';\n\n" : ''}${
    isPage ? "import 'package:url_launcher/url_launcher.dart';" : "import 'package:http/http.dart' as http;"
  }

${hasToken && !isPage ? "const token = 'TOKEN'; // of a sign-in, or a service key\n\n" : ''}Future<void> main() async {
${code}
}`
}
