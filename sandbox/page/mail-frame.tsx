import { useMemo, useState } from 'preact/hooks'

export type MailAttachment = {
  filename: string | null
  contentId: string | null
  contentType: string
  size: number
  /** Base64. */
  content: string
}

// A remote picture tells its sender who reads the mail, and when; without a network the page would wait for it.
const CLOSED = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
const WITH_PICTURES = `${CLOSED} http: https:`

/**
 * Untrusted HTML in a frame: no scripts, no forms, no origin, and nothing is fetched. Its links open in a new tab without
 * the frame's restrictions, because the application runs there.
 */
export function MailFrame({ html, attachments }: { html: string; attachments: readonly MailAttachment[] }) {
  const [withPictures, setWithPictures] = useState(false)
  const mail = useMemo(() => parseMail(html, attachments), [html])
  return (
    <div class="rendered">
      {mail.hasRemotePictures && !withPictures && (
        <p class="notice warning">
          Pictures from other servers are not loaded.{' '}
          <button type="button" onClick={() => setWithPictures(true)}>
            Show remote pictures
          </button>
        </p>
      )}
      <iframe
        title="The mail, rendered"
        sandbox="allow-popups allow-popups-to-escape-sandbox"
        referrerpolicy="no-referrer"
        srcdoc={mail.textWith(withPictures ? WITH_PICTURES : CLOSED)}
      />
    </div>
  )
}

function parseMail(html: string, attachments: readonly MailAttachment[]) {
  // A document that is only parsed runs and fetches nothing.
  const mail = new DOMParser().parseFromString(html, 'text/html')
  // The policy does not prevent preloads by link elements.
  for (const element of mail.querySelectorAll('base, link, meta[http-equiv]')) element.remove()
  for (const link of mail.querySelectorAll('a, area')) {
    link.setAttribute('target', '_blank')
    link.setAttribute('rel', 'noopener noreferrer')
  }
  const byContentId = new Map(attachments.map((one) => [`cid:${one.contentId}`, one]))
  for (const picture of mail.querySelectorAll('[src^="cid:" i]')) {
    const found = byContentId.get(`cid:${decodeText(picture.getAttribute('src')!.slice(4))}`)
    if (found) picture.setAttribute('src', `data:${found.contentType};base64,${found.content}`)
  }
  const policy = mail.createElement('meta')
  policy.setAttribute('http-equiv', 'content-security-policy')
  const scheme = mail.createElement('meta')
  scheme.setAttribute('name', 'color-scheme')
  scheme.setAttribute('content', 'light')
  mail.head.prepend(policy, scheme)
  return {
    hasRemotePictures: hasRemotePictures(mail),
    textWith(content: string): string {
      policy.setAttribute('content', content)
      return `<!doctype html>${mail.documentElement.outerHTML}`
    },
  }
}

/** Whether a mail has remote pictures; an address in a style sheet may also be something that is never loaded. */
const hasRemotePictures = (mail: Document): boolean =>
  mail.querySelector('[src^="http" i], [src^="//"], [srcset], [background]') !== null ||
  /url\(\s*["']?(?:https?:)?\/\//i.test(mail.documentElement.outerHTML)

function decodeText(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
