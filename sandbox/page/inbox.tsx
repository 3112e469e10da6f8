import { signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'

import { isError } from '../../client/src/index.ts'
import { messageOf, Problem } from '../../console/src/parts/load.tsx'
import { go, href, Outside } from '../../console/src/parts/router.tsx'
import { Facts, Time } from '../../console/src/parts/text.tsx'
import { Tabs, type TabItem } from '../../console/src/parts/tabs.tsx'
import { announce, toast } from '../../console/src/parts/toast.tsx'
import { count, refresh, retry } from './live.ts'
import { MailFrame, type MailAttachment } from './mail-frame.tsx'
import { Command, Linked, Panes, Row, Title } from './panes.tsx'
import { inLines, Source } from './reading.tsx'
import { appUrl, ask, isUnused, root, serverUrl } from './server.ts'
import { openIn } from './where.ts'

type Mail = { id: string; to: string; subject: string; text: string | null; receivedAt: string }
type WholeMail = Mail & {
  from: string
  cc: string
  replyTo: string
  html: string | null
  links: string[]
  attachments: MailAttachment[]
  headers: { name: string; value: string }[]
}
type Opened = { id: string; mail?: WholeMail; error?: unknown }

const SHOWN_MAX = 200
const SEEN = 'sixwire-sandbox-seen'
const SEEN_MAX = 1000

const REGISTER = `curl ${serverUrl}/auth/register \\
  -H 'content-type: application/json' \\
  -d '{"email": "you@example.com", "password": "correct horse battery"}'`

const messages = signal<readonly Mail[] | undefined>(undefined)
const wanted = signal('')
/** What was found; undefined if nothing is searched for. */
const matches = signal<readonly Mail[] | undefined>(undefined)
const seen = signal<ReadonlySet<string>>(new Set(JSON.parse(localStorage.getItem(SEEN) ?? '[]') as string[]))
const opened = signal<Opened | undefined>(undefined)

const listOf = async (query = ''): Promise<readonly Mail[]> =>
  (await ask<{ messages: Mail[] }>('GET', `/mail?limit=${SHOWN_MAX}${query}`)).messages

/** Shows the mails with the text that is searched for: the server looks through whole mails. */
async function search(): Promise<void> {
  const text = wanted.peek().trim()
  const found = text === '' ? undefined : await listOf(`&search=${encodeURIComponent(text)}`)
  // Another text may have been typed meanwhile.
  if (wanted.peek().trim() === text) matches.value = found
}

const countNew = (): void =>
  count('inbox', (messages.peek() ?? []).filter(({ id }) => !seen.peek().has(id)).length)

export async function refreshInbox(): Promise<void> {
  const open = openIn('inbox')
  // A mail that could not be fetched is fetched again.
  const failed = opened.peek()
  if (open !== undefined && failed?.id === open && failed.error !== undefined && !isMissing(failed.error))
    void read(open)
  const before = messages.peek()
  const now = await listOf()
  messages.value = now
  await search()
  if (open !== undefined && before !== undefined && now.length === 0) go(href(['inbox']))
  countNew()
  if (before === undefined) return
  const known = new Set(before.map(({ id }) => id))
  const arrivals = now.filter(({ id }) => !known.has(id))
  if (arrivals.length === 1) announce(`New mail for ${arrivals[0]!.to}: ${arrivals[0]!.subject}`)
  else if (arrivals.length > 1) announce(`${arrivals.length} new mails`)
}

const isMissing = (error: unknown): boolean => isError(error) && error.status === 404

/** Fetches a mail into the reader. */
async function read(id: string): Promise<void> {
  try {
    const mail = await ask<WholeMail>('GET', `/mail/${encodeURIComponent(id)}`)
    if (openIn('inbox') === id) opened.value = { id, mail }
  } catch (error) {
    if (!isMissing(error)) retry('inbox')
    if (openIn('inbox') === id) opened.value = { id, error }
  }
}

function see(id: string): void {
  if (seen.peek().has(id)) return
  seen.value = new Set([...seen.peek(), id])
  localStorage.setItem(SEEN, JSON.stringify([...seen.value].slice(-SEEN_MAX)))
  countNew()
}

async function remove(id: string): Promise<void> {
  await ask('DELETE', `/mail/${encodeURIComponent(id)}`)
  announce('The mail is deleted')
  go(href(['inbox']))
  await refresh('inbox')
  document.getElementById('inbox-filter')?.focus()
}

/** The mails that the server has sent. */
export function Inbox() {
  const open = openIn('inbox')
  useEffect(() => {
    if (open === undefined) return
    see(open)
    if (opened.peek()?.id !== open || opened.peek()?.error !== undefined) void read(open)
  }, [open])
  const shown = matches.value ?? messages.value ?? []
  const current = opened.value?.id === open ? opened.value : undefined
  return (
    <Panes
      part="inbox"
      isEmpty={messages.value && messages.value.length === 0}
      empty={isUnused('mail') ? <Unused /> : <Empty />}
      choose={<p>Choose a mail to read it.</p>}
      bar={
        <label class="search">
          <span class="quiet">Search mail</span>
          <input
            id="inbox-filter"
            type="search"
            placeholder="Search addresses, subjects and text"
            autoComplete="off"
            value={wanted}
            onInput={(event) => {
              wanted.value = event.currentTarget.value
              void search().catch(() => retry('inbox'))
            }}
            onKeyDown={(event) => {
              if (event.key === 'ArrowDown') document.querySelector<HTMLElement>('#inbox-list a')?.focus()
            }}
          />
        </label>
      }
      below={
        <p id="inbox-none" class="hint" hidden={shown.length > 0 || (messages.value ?? []).length === 0}>
          No mail matches.
        </p>
      }
      rows={shown.map((mail) => (
        <MailRow key={mail.id} mail={mail} isNew={!seen.value.has(mail.id)} />
      ))}
      reader={
        open === undefined ? undefined : current?.mail ? (
          <Reader key={open} mail={current.mail} />
        ) : (
          current?.error !== undefined && <Problem error={current.error} />
        )
      }
    />
  )
}

const Unused = () => (
  <>
    <h2>No mail arrives here</h2>
    <p>The server sends mail through the provider that is configured, not to this inbox.</p>
  </>
)

const Empty = () => (
  <>
    <h2>No mail yet</h2>
    <p>Register an account and its mail appears here:</p>
    <Command text={REGISTER} what="the command" />
    <p>
      Or do it in a browser, as your users would: <a href={appUrl}>{appUrl}</a>
    </p>
  </>
)

const MailRow = ({ mail: { id, to, subject, text, receivedAt }, isNew }: { mail: Mail; isNew: boolean }) => (
  <Row part="inbox" id={id} title={to} moment={<Time at={receivedAt} />} isNew={isNew}>
    <span class="subject">
      {isNew && <span class="quiet">New: </span>}
      {subject || '(no subject)'}
    </span>
    <span class="preview">{(text ?? '').replaceAll(/\s+/g, ' ').slice(0, 120)}</span>
  </Row>
)

const Reader = ({ mail }: { mail: WholeMail }) => (
  <>
    <Title>{mail.subject || '(no subject)'}</Title>
    <Facts
      of={[
        ['From', mail.from],
        ['To', mail.to],
        mail.cc && ['Cc', mail.cc],
        mail.replyTo && ['Reply to', mail.replyTo],
        ['Received', <Time at={mail.receivedAt} />],
      ]}
    />
    {mail.links.length > 0 && (
      <div class="links">
        <h3>{mail.links.length === 1 ? 'Link' : 'Links'}</h3>
        <ul>
          {mail.links.map((url) => (
            <li key={url}>
              <Outside url={url} />
            </li>
          ))}
        </ul>
      </div>
    )}
    {mail.attachments.length > 0 && (
      <div class="links">
        <h3>Attachments</h3>
        <ul>
          {mail.attachments.map((one, at) => (
            <li key={at}>
              <AttachmentLink of={one} />
            </li>
          ))}
        </ul>
      </div>
    )}
    <div class="buttons">
      <button
        type="button"
        onClick={() =>
          void remove(mail.id).catch((error: unknown) => toast(messageOf(error), { tone: 'bad' }))
        }
      >
        Delete this mail
      </button>
      <a class="download" href={sourceUrl(mail.id)} download={`${mail.id}.eml`}>
        Download it
      </a>
    </div>
    <Tabs label="Ways to read it" query={null} tabs={waysToRead(mail)} />
  </>
)

function waysToRead({ id, html, text, headers, attachments }: WholeMail): readonly TabItem[] {
  const tabs: (TabItem | false)[] = [
    html !== null &&
      html !== '' && {
        name: 'rendered',
        title: 'Rendered',
        show: () => <MailFrame html={html} attachments={attachments} />,
      },
    text !== null &&
      text !== '' && {
        name: 'text',
        title: 'Text',
        show: () => (
          <Source>
            <Linked text={text} />
          </Source>
        ),
      },
    html !== null && html !== '' && { name: 'html', title: 'HTML', show: () => <Source>{html}</Source> },
    {
      name: 'headers',
      title: 'Headers',
      show: () => <Source>{inLines(headers.map(({ name, value }) => [name, value]))}</Source>,
    },
    { name: 'source', title: 'Source', show: () => <Message id={id} /> },
  ]
  return tabs.filter((one) => one !== false)
}

const sourceUrl = (id: string): string => `${root}/api/mail/${encodeURIComponent(id)}/source`

/** The message as it was accepted, once it is fetched. */
function Message({ id }: { id: string }) {
  const text = useMemo(() => signal(''), [])
  useEffect(() => {
    void fetch(sourceUrl(id))
      .then((response) => response.text())
      .catch(() => 'The server does not answer.')
      .then((content) => (text.value = content))
  }, [id])
  return <Source>{text}</Source>
}

function AttachmentLink({ of: { filename, contentType, size, content } }: { of: MailAttachment }) {
  const href = useMemo(() => {
    const bytes = Uint8Array.from(atob(content), (sign) => sign.charCodeAt(0))
    return URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }))
  }, [content])
  useEffect(() => () => URL.revokeObjectURL(href), [href])
  const name = filename || 'attachment'
  return (
    <span>
      <a href={href} download={name}>
        {name}
      </a>{' '}
      {contentType}, {size} bytes
    </span>
  )
}
