export type Mailbox = { name: string; address: string }

/** One address and nothing by which it could become two, or leave its line. What a mailbox is, is checked elsewhere. */
export const isAddress = (text: string): boolean =>
  /^[^\s\x00-\x1f\x7f<>()[\],;:"\\@]+@[^\s\x00-\x1f\x7f<>(),;"\\@]+$/.test(text)

/** An address without a name. */
export const plain = (address: string): Mailbox => ({ name: '', address })

/** `Name <address>` or a bare address. */
export function readMailbox(text: string): Mailbox | undefined {
  const [, name = '', address = text.trim()] = /^\s*"?([^"<>\r\n]*?)"?\s*<([^<>]*)>\s*$/.exec(text) ?? []
  return isAddress(address) ? { name, address } : undefined
}
