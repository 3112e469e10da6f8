import { runCommand } from './commands/run.ts'

// Its reader has gone, as behind `| head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  // A server goes on, as its log does.
  if (process.argv[2] !== 'start') process.exit()
})

// Whatever a wire of an application may have left open: the command is done. Without `await`, which a module that is loaded
// by `require` cannot have: the program in one file loads it so.
void runCommand(process.argv.slice(2)).then((code) => process.exit(code))
