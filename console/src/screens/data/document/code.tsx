import { serverUrl } from '../../../parts/session.ts'
import { Copy, Text } from '../../../parts/text.tsx'
import type { DocumentFields } from './draft.ts'

const LONG = 20_000

/** How a program reads and writes the document as it is on the page. */
export default function AsCode(props: {
  collection: string
  id: string | undefined
  etag: string | undefined
  fields: DocumentFields
}) {
  const body = JSON.stringify(props.fields)
  return (
    <div class="as-code">
      {examplesOf({ ...props, body }).map(({ title, code }) => (
        <section key={title} aria-label={title}>
          <h3>
            {title} <Copy text={code} what={title} />
          </h3>
          <pre tabIndex={0} aria-label={title}>
            <code>
              <Text>{code}</Text>
            </code>
          </pre>
        </section>
      ))}
      {body.length > LONG && <p class="soft">Put the document into document.json first.</p>}
    </div>
  )
}

type Shown = { collection: string; id: string | undefined; etag: string | undefined; body: string }

function examplesOf({ collection, id, etag, body }: Shown): { title: string; code: string }[] {
  const isLong = body.length > LONG
  const url = `${serverUrl}/store/${collection}${id === undefined ? '' : `/${id}`}`
  const token = '-H "authorization: Bearer $TOKEN"'
  const sent = `-H 'content-type: application/json' \\\n  -d ${isLong ? '@document.json' : quoted(body)}`
  const books = `six.collection('${collection}')`
  const value = isLong ? 'document' : JSON.stringify(JSON.parse(body), null, 2)
  if (id === undefined)
    return [
      { title: 'Create with curl', code: `curl -s ${url} ${token} \\\n  ${sent}` },
      { title: 'Create with the client', code: `const { _id } = await ${books}.create(${value})` },
    ]
  const match = etag ? ` \\\n  -H 'if-match: ${etag}'` : ''
  return [
    { title: 'Read with curl', code: `curl -s ${url} ${token}` },
    {
      title: 'Replace with curl',
      code: `curl -s -X PUT '${url}?replace=true' ${token}${match} \\\n  ${sent}`,
    },
    { title: 'Read with the client', code: `const document = await ${books}.get('${id}')` },
    {
      title: 'Replace with the client',
      code: `await six.call('PUT /store/:collection/:id', {
  params: { collection: '${collection}', id: '${id}' },
  query: { replace: true },
  headers: { 'if-match': '${etag}' },
  body: ${value},
})`,
    },
  ]
}

/** A text as one word of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`
