import { runCommand } from './commands/run.ts'

// Whatever a wire of an application may have left open: the command is done.
process.exit(await runCommand(process.argv.slice(2)))
