export type SampleValue =
  | string
  | number
  | boolean
  | null
  | readonly SampleValue[]
  | { readonly [name: string]: SampleValue | undefined }

export type SampleFields = Readonly<Record<string, SampleValue>>

/** What comes back: JSON, text, bytes, nothing, events without an end, or a redirection that a browser has to follow. */
export type SampleAnswer = 'json' | 'text' | 'bytes' | 'nothing' | 'events' | 'page'

/** A request that a program is to send, of which each language has its text. */
export type SampleCall = {
  /** The address of the server, without a slash at its end. */
  readonly baseUrl: string
  readonly method: string
  /** As the routes write it: `/store/:collection/:id`. */
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  /** What is no text is sent as its JSON. */
  readonly query: SampleFields
  /** Sent as JSON. */
  readonly body?: SampleValue | undefined
  /** Sent as multipart/form-data in place of the body: a file, and the fields before it. */
  readonly file?: SampleFile | undefined
  /** Whether it is sent with an access token. */
  readonly hasToken: boolean
  readonly answer: SampleAnswer
}

export type SampleFile = {
  /** The part that has the file. */
  readonly field: string
  /** The name of the file on the disk. */
  readonly name: string
  readonly type: string
  readonly fields: SampleFields
}

/** A value of the query as it is sent. */
export const queryText = (value: SampleValue): string =>
  (typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed()

/** The address without its query. */
export const addressOf = ({ baseUrl, path, params }: SampleCall): string =>
  baseUrl +
  path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent((params[name] ?? '').toWellFormed()))

/** The address with its query. */
export function addressWithQuery(call: SampleCall): string {
  const pairs = Object.entries(call.query).map(([name, value]) =>
    [name, queryText(value)].map(encodeURIComponent).join('='),
  )
  return addressOf(call) + (pairs.length > 0 ? `?${pairs.join('&')}` : '')
}

/** The header of the part that has the file. https://html.spec.whatwg.org/#multipart-form-data */
export const dispositionOf = ({ field, name }: SampleFile): string =>
  `Content-Disposition: form-data; name="${inForm(field)}"; filename="${inForm(name)}"`

const inForm = (name: string): string =>
  name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
