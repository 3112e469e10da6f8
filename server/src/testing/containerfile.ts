// What a Containerfile says about the container that runs: https://docs.docker.com/reference/dockerfile/
import { readFile } from 'node:fs/promises'

export type Containerfile = {
  /** Of `ENV`, by name. */
  environment: Record<string, string>
  /** Of `CMD`, in the form of a list. */
  command: string[]
  /** What `HEALTHCHECK` runs. */
  healthCheck: string[]
  user: string
  folder: string
  volumes: string[]
  stopSignal: NodeJS.Signals
}

const lastOf = (instructions: Map<string, string>, name: string): string => {
  const value = instructions.get(name)
  if (value === undefined) throw new Error(`the Containerfile has no ${name} in its last stage`)
  return value
}

/** Reads the last stage of a Containerfile; of an instruction that is there twice, the second. */
export async function readContainerfile(file: URL): Promise<Containerfile> {
  const lines = (await readFile(file, 'utf8')).replaceAll('\\\n', ' ').split('\n')
  const stage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')) + 1)
  const instructions = new Map(
    stage.flatMap((line) => {
      const [, name, value] = /^([A-Z]+) (.*)$/.exec(line) ?? []
      return name === undefined ? [] : [[name, value!] as const]
    }),
  )
  const list = (text: string) => JSON.parse(text) as string[]
  return {
    environment: Object.fromEntries(
      lastOf(instructions, 'ENV')
        .split(' ')
        .map((pair) => pair.split(/=(.*)/s, 2) as [string, string]),
    ),
    command: list(lastOf(instructions, 'CMD')),
    healthCheck: list(/ CMD (\[.*\])$/.exec(lastOf(instructions, 'HEALTHCHECK'))![1]!),
    user: lastOf(instructions, 'USER'),
    folder: lastOf(instructions, 'WORKDIR'),
    volumes: list(lastOf(instructions, 'VOLUME')),
    stopSignal: lastOf(instructions, 'STOPSIGNAL') as NodeJS.Signals,
  }
}
