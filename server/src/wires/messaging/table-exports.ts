import type { WireExport } from '../../kernel/wire/table-export.ts'
import { readHistory } from './messages/message-history.ts'

/** What is written of the messages. */
export const MESSAGING_EXPORT: WireExport = {
  tables: [
    {
      table: 'messaging_messages',
      about:
        'Emails, SMS and WhatsApp messages; what those that wait or have failed say may have links and codes in it',
      without: ['claim', 'call_state'],
      names: { recipient: 'to' },
      lineOf: ({ history }: { history: string | null }, plain) => ({
        ...plain,
        ...(history !== null && { history: readHistory(history) }),
      }),
    },
    { table: 'messaging_recipients', about: 'Everybody whom a message went to, those in copy as well' },
  ],
}
