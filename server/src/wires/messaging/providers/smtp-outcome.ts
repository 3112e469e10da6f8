import { oneLine } from '../../../base/one-line.ts'
import type { SendOutcome } from './provider.ts'

const REASON_MAX = 300

/** RFC 4954, section 6: the server wants to know, or doesn't know, who sends. The mail is not what it refuses. */
const AUTH_REPLIES: ReadonlySet<number> = new Set([530, 534, 535, 538])

/** What nodemailer rejects with. */
export type SmtpError = Error & {
  code?: string
  command?: string
  responseCode?: number
  permanent?: boolean
}

/**
 * What a fault says of the mail.
 *
 * @param wasDataSent whether the first byte of the mail had left
 */
export function outcomeOf(error: SmtpError, wasDataSent: boolean, limitMs: number): SendOutcome {
  if (error.code === 'EABORT') {
    const reason = `the server did not take the mail within ${limitMs / 1000} seconds`
    return wasDataSent ? { kind: 'unknown', reason } : { kind: 'retry', reason }
  }
  const reason = sentence(error)
  // EENVELOPE: MAIL, RCPT or DATA was refused. EMESSAGE: the mail was, after its last byte, or for its size before
  // the first. Either way the server, or nodemailer before anything was sent, has said no: that is certain.
  if (error.code === 'EENVELOPE' || error.code === 'EMESSAGE') {
    const { responseCode: reply } = error
    const forGood = reply === undefined || (error.permanent === true && !AUTH_REPLIES.has(reply))
    return { kind: forGood ? 'refused' : 'retry', reason }
  }
  if (error.code === 'EMAXRECIPIENTS') return { kind: 'refused', reason }
  return { kind: wasDataSent ? 'unknown' : 'retry', reason }
}

/** One line for the log: what a server answers is not ours, and may be of any length. */
export function sentence({ code, command, message, responseCode }: SmtpError): string {
  // Some servers repeat in the answer what they were sent.
  if (code === 'EAUTH') return `the server refused the user or the password (${responseCode ?? 'no answer'})`
  if (code === 'ETLS' && command === 'STARTTLS')
    return 'the server does not go over to TLS (STARTTLS), which must be: "?requireTLS=false" in the address goes on without, unless a password would be sent to another machine'
  return oneLine(message, REASON_MAX)
}
