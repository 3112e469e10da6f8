import { StartError } from '../base/start-error.ts'
import { DEV_VARIABLE, WORKER_VARIABLE, WORKERS_VARIABLE } from '../kernel/config/config.ts'
import { workerCount } from '../kernel/config/setting-parsers.ts'
import { defineAction } from './command.ts'
import { SETTING_OPTIONS, settingArguments } from './environment.ts'

// Neither is loaded for the other: what starts workers stays small.
const serve = async () => (await import('./serve.ts')).serve
const superviseWorkers = async () => (await import('./workers/supervisor.ts')).superviseWorkers

export const start = defineAction({
  summary: 'Run the server',
  options: {
    ...SETTING_OPTIONS,
    workers: {
      value: 'N',
      description: `how many processes answer, instead of ${WORKERS_VARIABLE}; auto for all cores`,
      read: workerCount,
    },
    'new-database': {
      description: 'create an empty database, though DATA_DIR has the files of an installation',
    },
  },
  details: `Runs until SIGTERM or SIGINT (Ctrl-C): the first one finishes the requests under way, refuses new ones
and exits with 0; a second one, over a second later, or 30 seconds end it at once.

Common settings: PORT, HOST, DATA_DIR, DATABASE_URL, SIXWIRE_POLICY, SIXWIRE_SECRET, LOG_LEVEL, SIXWIRE_WORKERS.`,
  async run({ options, environment }) {
    const set = environment.variables[WORKERS_VARIABLE]
    const workers = options.workers ?? (set ? workerCount(set, WORKERS_VARIABLE) : 1)
    if (workers === 1 || process.env[WORKER_VARIABLE] !== undefined)
      return (await serve())(options, environment)
    if (process.env[DEV_VARIABLE])
      throw new StartError(
        `${WORKERS_VARIABLE}: sixwire dev runs one process: remove it, or run sixwire start`,
      )
    return (await superviseWorkers())(workers, {
      args: settingArguments(options),
      firstArgs: options['new-database'] ? ['--new-database'] : [],
      fromFile: Object.keys(environment.variables).filter((name) => environment.sourceOf(name) === '.env'),
    })
  },
})
