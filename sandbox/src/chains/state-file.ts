import { createHash, randomBytes } from 'node:crypto'
import { open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

const MARK = 'sixwire-chain'

/** What a node is started with to go on with a chain. */
export type ChainState = {
  /** Seconds since 1970: with it the node has the same first block. */
  genesisTime: number
  /** What anvil dumped. */
  dump: Buffer
}

/** A state of a node in a file, and the one before it beside that. */
export type StateFile = {
  /** The states that are whole, the newest first; each is read when it is asked for. */
  read(): AsyncGenerator<{ state: ChainState; file: string }>
  /** Replaces the file at once: a reader, or a start after a crash, finds the old state or the new one. */
  write(state: ChainState): Promise<void>
  remove(): Promise<void>
}

/**
 * @param file the file's path; `<file>.last` is the state before
 * @param onDamaged called with the path of a file that is not whole
 */
export function createStateFile({
  file,
  onDamaged,
}: {
  file: string
  onDamaged: (file: string) => void
}): StateFile {
  const last = `${file}.last`
  /** Whether the file is known to be whole, and so may become the last good one. */
  let isWhole = false

  /** Of a process that was killed while it wrote. */
  async function removeTemporary(): Promise<void> {
    const begin = `${basename(file)}.`
    for (const name of await readdir(dirname(file)))
      if (name.startsWith(begin) && name.endsWith('.tmp'))
        await rm(join(dirname(file), name), { force: true })
  }

  return {
    async *read() {
      await removeTemporary()
      for (const path of [file, last]) {
        const content = await readFile(path).catch(() => undefined)
        if (!content) continue
        const state = stateIn(content)
        if (path === file) isWhole = state !== undefined
        if (!state) onDamaged(path)
        else {
          yield { state, file: path }
          // Asked for another one, so this one was of no use.
          if (path === file) isWhole = false
        }
      }
    },
    async write(state) {
      const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`
      const handle = await open(temporary, 'wx', 0o600)
      try {
        await handle.writeFile(Buffer.concat([Buffer.from(headOf(state)), state.dump]))
        await handle.sync()
      } finally {
        await handle.close()
      }
      if (isWhole) await rename(file, last).catch(() => undefined)
      await rename(temporary, file)
      isWhole = true
    },
    async remove() {
      isWhole = false
      await rm(file, { force: true })
      await rm(last, { force: true })
    },
  }
}

const headOf = ({ genesisTime, dump }: ChainState): string =>
  `${MARK} ${genesisTime} ${dump.length} ${createHash('sha256').update(dump).digest('hex')}\n`

/** The state in the content of a file; undefined if it was cut or changed. */
function stateIn(content: Buffer): ChainState | undefined {
  const dump = content.subarray(content.indexOf('\n') + 1)
  const head = content.subarray(0, content.length - dump.length).toString('latin1')
  const state = { genesisTime: Number(head.split(' ')[1]), dump }
  return head === headOf(state) ? state : undefined
}
