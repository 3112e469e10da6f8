// Writes docs/commands.md: the help of every command, from the table that the program reads.
//
//   node scripts/commands-page.ts
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import { loadCommands } from '../server/src/commands/commands.ts'
import { helpOf } from '../server/src/commands/help.ts'

export const COMMANDS_PAGE = new URL('../docs/commands.md', import.meta.url)

const INTRODUCTION = `# Commands

Every command of \`sixwire\`, with its options. This page is made from the code by \`npm run reference\`; a test
fails if it is not current.

Run a command in the folder of the application: \`npx sixwire check\`. Settings come from the command line
(\`--port\`, \`--host\`), the environment, \`.env\` and \`sixwire.config.ts\`, in this order.

- **Exit codes:** 0 it is done, 1 it failed or found a fault, 2 the arguments make no command.
- **\`--json\`** prints one JSON document on standard output, with the field names of the API; amounts that a
  JSON number would round are text. Errors, and the events of accounts, are on standard error.
- **Beside a running server:** \`user\`, \`key\`, \`jobs\`, \`backup\`, \`pay\` and \`transaction\` work on the database
  while servers run. They and \`check\` run the migrations, as \`start\` does; \`config\`, \`doctor\` and \`template\`
  do not. None of them opens a port or starts the sandbox.
- **Completion:** \`eval "$(sixwire completion bash)"\`; likewise for zsh and fish.`

/** The text of the page. */
export async function commandsPage(): Promise<string> {
  const sections = Object.entries(await loadCommands()).map(([name, command]) => {
    const [summary = '', ...help] = helpOf(name, command).split('\n\n')
    return `## sixwire ${name}\n\n${summary}.\n\n\`\`\`\n${help.join('\n\n')}\n\`\`\``
  })
  return `${[INTRODUCTION, ...sections].join('\n\n')}\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeFile(COMMANDS_PAGE, await commandsPage())
