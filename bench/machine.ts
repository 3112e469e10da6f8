import { closeSync, fdatasyncSync, openSync, readFileSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { availableParallelism, cpus, totalmem, type as osType, release } from 'node:os'
import { join } from 'node:path'

import { median } from './statistics.ts'

export type Machine = {
  processor: string
  cores: number
  memoryGB: number
  system: string
  node: string
  /** Of the folder that holds the databases. */
  fileSystem: string
  /** Milliseconds that one write of a page with a flush to the disk takes: what every commit costs at least. */
  flushMs: number
}

// https://man7.org/linux/man-pages/man2/statfs.2.html
const fileSystems: Record<number, string> = {
  0xef53: 'ext4',
  0x58465342: 'xfs',
  0x9123683e: 'btrfs',
  0x794c7630: 'overlayfs',
  0x01021994: 'tmpfs (in memory: flushing costs nothing here)',
}

function flushMs(folder: string): number {
  const path = join(folder, 'flush')
  const file = openSync(path, 'w')
  const page = Buffer.alloc(4096)
  const times = Array.from({ length: 100 }, () => {
    const begun = performance.now()
    writeSync(file, page)
    fdatasyncSync(file)
    return performance.now() - begun
  })
  closeSync(file)
  rmSync(path)
  return median(times)
}

/** What the figures were measured on. */
export function describeMachine(folder: string): Machine {
  const type = statfsSync(folder).type
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGB: Math.round(totalmem() / 2 ** 30),
    system: osName(),
    node: process.version,
    fileSystem: fileSystems[type] ?? `0x${type.toString(16)}`,
    flushMs: flushMs(folder),
  }
}

function osName(): string {
  try {
    const name = /^PRETTY_NAME="(.*)"$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1]
    if (name !== undefined) return `${name}, ${osType()} ${release()}`
  } catch {
    // Not a Linux with that file.
  }
  return `${osType()} ${release()}`
}
