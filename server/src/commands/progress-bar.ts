import type { WriteStream } from 'node:tty'

import type { Progress } from '../base/progress.ts'

const REDRAWN_MS = 100
const BAR_CHARACTERS = 24
const CLEAR_LINE = '\r\u001B[K'

/** Draws how far an operation is on a terminal, and nothing elsewhere. */
export type ProgressBar = {
  show(progress: Progress): void
  /** Clears the line. */
  end(): void
}

export function createProgressBar({
  out,
  now = () => performance.now(),
}: {
  out: Pick<WriteStream, 'write'> & { isTTY?: boolean | undefined }
  now?: () => number
}): ProgressBar {
  let drawnAt = -Infinity
  let phase = ''
  return {
    show(progress) {
      const isNew = progress.phase !== phase
      if (!out.isTTY || (!isNew && now() - drawnAt < REDRAWN_MS)) return
      phase = progress.phase
      drawnAt = now()
      out.write(CLEAR_LINE + lineOf(progress))
    },
    end() {
      if (drawnAt > -Infinity) out.write(CLEAR_LINE)
      drawnAt = -Infinity
    },
  }
}

/** `Backup  [######······]  50 %  1.2 MB of 2.4 MB` */
function lineOf({ phase, done, total, unit, bytes }: Progress): string {
  const part = total === 0 ? 1 : Math.min(1, done / total)
  const full = Math.round(part * BAR_CHARACTERS)
  const bar = '#'.repeat(full).padEnd(BAR_CHARACTERS, '·')
  const amount = (value: number): string => (unit === 'bytes' ? sizeText(value) : value.toLocaleString('en'))
  const of = unit === 'bytes' ? sizeText(total) : `${amount(total)} ${unit}`
  return `${phase}  [${bar}] ${String(Math.floor(part * 100)).padStart(3)} %  ${amount(done)} of ${of}${bytes === undefined ? '' : `, ${sizeText(bytes)}`}`
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const

/** A number of bytes for people, a KB being 1,024 of them: `1.5 MB`. */
export function sizeText(bytes: number): string {
  const at = bytes < 1024 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10))
  return `${at === 0 ? bytes : (bytes / 1024 ** at).toFixed(1)} ${UNITS[at]}`
}
