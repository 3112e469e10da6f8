import type { ComponentChildren } from 'preact'

import { Tabs } from '../../console/src/parts/tabs.tsx'

export const Source = ({ children }: { children: ComponentChildren }) => (
  <pre class="json" tabIndex={0}>
    {children}
  </pre>
)

/** A body as it is sent, with line breaks, and its headers. */
export const Sent = (props: {
  label: string
  body: string
  headers?: Readonly<Record<string, string>> | null
}) => {
  const { label, body, headers } = props
  const bodyTab = { name: 'body', title: 'Body', show: () => <Source>{indented(body)}</Source> }
  const headersTab = headers && {
    name: 'headers',
    title: 'Headers',
    show: () => <Source>{inLines(Object.entries(headers))}</Source>,
  }
  return <Tabs label={label} query={null} tabs={headersTab ? [bodyTab, headersTab] : [bodyTab]} />
}

/** Headers, one a line. */
export const inLines = (headers: readonly (readonly [name: string, value: string])[]): string =>
  headers.map(([name, value]) => `${name}: ${value}`).join('\n')

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), undefined, 2)
  } catch {
    return json
  }
}
