import type { Key } from '../../../base/crypto.ts'
import { invalid } from '../../../base/errors.ts'
import type { LogEnd } from './log.ts'

/**
 * Writes and reads cursors: where in which log, and what is watched by whom. The first part is the same for all followers
 * that receive a change, and is written once.
 */
export function createCursors(key: Key) {
  // Thousands of quiet streams are at the same place.
  let last = { text: '', place: '' }
  return {
    /** The part of a place in the log. It is encrypted: how much is written is nobody's business. */
    placeOf({ generation, position: { xid, seq, at } }: LogEnd): string {
      const text = JSON.stringify([generation, xid, seq, at])
      if (text !== last.text) last = { text, place: key.seal(text) }
      return last.place
    },

    /**
     * The part of those who watch.
     *
     * @param name identifies the caller, the watches and their rules
     */
    audienceOf: (name: string): string => key.mac(name).slice(0, AUDIENCE_LENGTH),

    /**
     * Reads a cursor.
     *
     * @throws VALIDATION_ERROR at `/query/cursor` if it is not one
     */
    read(text: string): LogEnd & { readonly audience: string } {
      const [place = '', audience = ''] = text.split('.')
      try {
        // Cursors of earlier versions have no time.
        const [generation, xid, seq, at = 0] = JSON.parse(key.open(place)) as [string, ...number[]]
        return { generation, position: { xid: xid!, seq: seq!, at }, audience }
      } catch {
        throw invalid({
          path: '/query/cursor',
          message:
            'This is not a cursor of changes: send the last id, or connect without one and list again.',
        })
      }
    },
  }
}

export type Cursors = ReturnType<typeof createCursors>

const AUDIENCE_LENGTH = 22
