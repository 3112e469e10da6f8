import { runCommand } from './commands/run.ts'

process.exitCode = await runCommand(process.argv.slice(2))
