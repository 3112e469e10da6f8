import { make } from './dom.js'

// A remote picture tells its sender who reads the mail, and when; without a network the page would wait for it.
const CLOSED = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
const WITH_PICTURES = `${CLOSED} http: https:`

/**
 * Untrusted HTML in a frame: no scripts, no forms, no origin, and nothing is fetched. Its links open in a new tab without
 * the frame's restrictions, because the application runs there.
 *
 * @param {{ html: string, attachments: { contentId: string | null, contentType: string, content: string }[] }} mail
 */
export function rendered({ html, attachments }) {
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
    const found = byContentId.get(`cid:${decodeText(picture.getAttribute('src').slice(4))}`)
    if (found) picture.setAttribute('src', `data:${found.contentType};base64,${found.content}`)
  }
  const policy = make('meta', { 'http-equiv': 'content-security-policy' })
  mail.head.prepend(policy, make('meta', { name: 'color-scheme', content: 'light' }))

  const frame = make('iframe', {
    title: 'The mail, rendered',
    sandbox: 'allow-popups allow-popups-to-escape-sandbox',
    referrerpolicy: 'no-referrer',
  })
  function show(content) {
    policy.setAttribute('content', content)
    frame.srcdoc = `<!doctype html>${mail.documentElement.outerHTML}`
  }
  show(CLOSED)
  const notice = hasRemotePictures(mail) && pictureNotice(() => show(WITH_PICTURES))
  return make('div', { class: 'rendered' }, notice, frame)
}

const pictureNotice = (load) => {
  const notice = make(
    'p',
    { class: 'notice' },
    'Pictures from other servers are not loaded. ',
    make(
      'button',
      {
        type: 'button',
        click() {
          notice.remove()
          load()
        },
      },
      'Show remote pictures',
    ),
  )
  return notice
}

/** Whether a mail has remote pictures; an address in a style sheet may also be something that is never loaded. */
const hasRemotePictures = (mail) =>
  mail.querySelector('[src^="http" i], [src^="//"], [srcset], [background]') !== null ||
  /url\(\s*["']?(?:https?:)?\/\//i.test(mail.documentElement.outerHTML)

function decodeText(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
