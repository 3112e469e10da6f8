import { sentOf, type Onchain } from '../wires/onchain/index.ts'
import { defineAction, UsageError, type CommandGroup } from './command.ts'
import { JSON_OPTION } from './option.ts'
import { print } from './print.ts'
import { withApp } from './with-app.ts'

const HASH = /^0x[\da-f]{64}$/i

type Revisions = Onchain['revisions']

const revise = (
  summary: string,
  details: string,
  work: (revisions: Revisions, hash: string) => ReturnType<Revisions['cancel']>,
  warning: string,
) =>
  defineAction({
    summary,
    words: ['HASH'],
    options: JSON_OPTION,
    details,
    async run({ words: [hash], options: { json } }) {
      if (!HASH.test(hash)) throw new UsageError('a hash is 0x and 64 hexadecimal digits')
      return withApp(async (app) => {
        const row = await work(app.service('onchain').revisions, hash)
        print(
          json,
          sentOf(row),
          () =>
            `${row.hash} is stored and will be broadcast with the nonce ${row.nonce} of ${row.sender}.\n${warning}`,
        )
        return 0
      })
    },
  })

export const transaction: CommandGroup = {
  summary: 'Cancel or speed up a transaction that is not mined',
  actions: {
    cancel: revise(
      'Send nothing with its nonce and a higher fee instead',
      `The cancellation goes to the address of the wallet itself. Nodes keep only one of both. The transaction
may still be mined instead: the first one in a block counts. If it is the cancellation, the wallet pays
its fee, the transaction is failed, and what was counted against the limits of the day stays counted.`,
      (revisions, hash) => revisions.cancel(hash),
      'The transaction may still be mined instead: the first one in a block counts.',
    ),
    'speed-up': revise(
      'Send it again with a higher fee',
      `The fee is higher by 12.5 % at least, and by as much as one of now pays. Either version may be mined,
never both. Of a cancelled one the cancellation is sped up.`,
      (revisions, hash) => revisions.speedUp(hash),
      'An earlier version may still be mined instead, never both.',
    ),
  },
  details: `HASH is that of any version of a transaction that this server sent. The fee stays within maxFeeGwei and
maxTransactionFee of the chain. A running server broadcasts it within two seconds.
GET /onchain/transactions/HASH shows what became of it.`,
}
