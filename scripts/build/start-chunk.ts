import { fileURLToPath } from 'node:url'
import type { ChunkingContext, CodeSplittingGroup } from 'rolldown'

/** What begins before the server, or beside it, and stays small. */
const COMMANDS = ['cli', 'commands/start', 'commands/dev', 'commands/workers/supervisor']
const SERVER = ['app', 'commands/serve', 'commands/workers/worker']

/**
 * What a start loads, in two files: with a file for what each two entries share there were eighty, and to find one takes Node half
 * a millisecond.
 *
 * @param source the address of `server/src/`
 * @param threads the modules of threads, which load nothing else
 */
export function startChunks(source: URL, threads: readonly string[]): CodeSplittingGroup[] {
  const idsOf = (paths: readonly string[]): string[] =>
    paths.map((path) => fileURLToPath(new URL(`${path}.ts`, source)))
  let reached: { server: Set<string>; commands: Set<string>; threads: Set<string> } | undefined
  function nameOf(id: string, context: ChunkingContext): string | null {
    reached ??= {
      server: closure(idsOf(SERVER), context),
      commands: closure(idsOf(COMMANDS), context),
      threads: closure(idsOf(['client', ...threads]), context),
    }
    if (!reached.server.has(id) || reached.threads.has(id)) return null
    return reached.commands.has(id) ? 'command' : 'server'
  }
  return [{ name: nameOf, debugName: 'start', includeDependenciesRecursively: false }]
}

/** These modules, and all that loads with them. */
function closure(ids: readonly string[], context: ChunkingContext): Set<string> {
  const found = new Set(ids)
  for (const id of found)
    for (const imported of context.getModuleInfo(id)?.importedIds ?? []) found.add(imported)
  return found
}
