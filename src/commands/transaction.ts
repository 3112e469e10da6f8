import { UsageError, type Command } from './command.ts'
import { withApp } from './with-app.ts'

const HASH = /^0x[\da-f]{64}$/i

export const transaction: Command = {
  summary: 'Cancel or speed up a transaction that is not mined',
  usage: 'sixwire transaction cancel HASH | speed-up HASH',
  help: `cancel HASH    sends nothing to the address of the wallet itself, with the
               nonce of the transaction and a higher fee. Nodes keep only one
               of both. The transaction may still be mined instead: the first
               one in a block counts. If it is the cancellation, the wallet pays
               its fee, the transaction is failed, and what was counted against
               the limits of the day stays counted.
speed-up HASH  sends the same transaction with a fee that is higher by 12.5 % at
               least, and by as much as one of now pays. Either version may be
               mined, never both. Of a cancelled one the cancellation is sped up.

HASH is that of any version of a transaction that this server sent. The fee stays
within maxFeeGwei and maxTransactionFee of the chain. A running server broadcasts
it within two seconds. GET /onchain/transactions/HASH shows what became of it.`,
  takesWords: true,
  options: {},
  async run([action, hash, ...more]) {
    if (action !== 'cancel' && action !== 'speed-up')
      throw new UsageError(
        action === undefined ? 'name an action: cancel or speed-up' : `"${action}" is not an action`,
      )
    if (hash === undefined || more.length > 0)
      throw new UsageError(`${action} takes the hash of a transaction`)
    if (!HASH.test(hash)) throw new UsageError('a hash is 0x and 64 hexadecimal digits')
    return withApp(async (app) => {
      const { revisions } = app.service('onchain')
      const row = await (action === 'cancel' ? revisions.cancel(hash) : revisions.speedUp(hash))
      console.log(`${row.hash} is stored and will be broadcast with the nonce ${row.nonce} of ${row.sender}.`)
      console.log(
        action === 'cancel'
          ? 'The transaction may still be mined instead: the first one in a block counts.'
          : 'An earlier version may still be mined instead, never both.',
      )
      return 0
    })
  },
}
