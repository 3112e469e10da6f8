import { StartError } from '../base/start-error.ts'
import { systemClock } from '../base/clock.ts'
import { NEW_SECRET_VARIABLE } from '../kernel/config/config.ts'
import { isRotatedTo } from '../kernel/secret/sealed.ts'
import { adoptNextSecret, checkedSecret, createNextSecret } from '../kernel/secret/secret.ts'
import { refuseWhileServed, refuseWithoutWires, reseal } from '../wires/core/secret-rotation.ts'
import { defineAction, type CommandGroup } from './command.ts'
import { table } from './print.ts'
import { withApp } from './with-app.ts'

const rotate = defineAction({
  summary: 'Encrypt everything under a new secret, all or nothing',
  options: {
    'dry-run': { description: 'say how many values would be encrypted, and change nothing' },
    stopped: { description: 'no server is running: do not wait for a minute without a sign of one' },
    'keep-unreadable': {
      description: 'leave what was encrypted with another secret, or by wires that are not loaded',
    },
  },
  details: `Encrypts all that is encrypted under SIXWIRE_SECRET under another secret, all or nothing.
Stop all servers first. Sessions stay valid; counts of failed sign-ins restart at zero.

Where the secret is the file DATA_DIR/secret, a new one is created and takes its place. The old one stays
beside it: backups of the database from before need it. If the command is cut off, run it again, or start
the server: nothing is lost at any step.

Where the secret is the variable SIXWIRE_SECRET, set ${NEW_SECRET_VARIABLE} to the new one. Afterwards set
SIXWIRE_SECRET to it, on all servers.`,
  async run({ options: { 'dry-run': isDryRun, stopped, 'keep-unreadable': keepsUnreadable } }) {
    // Not started: a wire may refuse to start with another secret.
    return withApp(
      async (app) => {
        const { db, settings } = app
        const from = settings.secret
        const variable = newVariable(from, settings.dataDir)
        if (variable !== undefined && (await isRotatedTo(db, variable))) {
          console.log(`The database is encrypted under the new secret already. ${NEXT_STEP}`)
          return 0
        }
        if (!stopped && !isDryRun) await refuseWhileServed(db, Date.now())
        if (!keepsUnreadable) await refuseWithoutWires(db, app.checks().keys())
        const to = variable ?? (await nextInFile(settings.dataDir, from, isDryRun))
        const resealed = await reseal({ db, clock: systemClock }, app.sealed(), {
          from,
          to,
          isDryRun,
          keepsUnreadable,
        })
        console.log(
          table(
            ['TABLE', 'COLUMN', 'VALUES', 'UNREADABLE'],
            resealed.map(({ column, rows, unreadable }) => [
              column.table,
              column.column,
              String(rows),
              String(unreadable),
            ]),
          ),
        )
        if (isDryRun) console.log('\nNothing was changed.')
        else if (variable === undefined) {
          const before = await adoptNextSecret(settings.dataDir, Date.now())
          console.log(`\nThe secret is rotated. Start the servers.`)
          console.log(`The old one is in ${before}: only backups of the database from before need it.`)
        } else console.log(`\nThe database is encrypted under the new secret. ${NEXT_STEP}`)
        return 0
      },
      { isStarted: false, withoutStored: true },
    )
  },
})

export const secret: CommandGroup = {
  summary: 'Rotate the secret: encrypt everything in the database under a new one',
  actions: { rotate },
}

const NEXT_STEP = `Set SIXWIRE_SECRET to it, remove ${NEW_SECRET_VARIABLE}, and start the servers.`

/** The new secret where the secret is a variable; undefined where it is a file. */
function newVariable(from: string, dataDir: string): string | undefined {
  const newSecret = process.env[NEW_SECRET_VARIABLE]
  if (process.env['SIXWIRE_SECRET']) {
    if (!newSecret)
      throw new StartError(
        `${NEW_SECRET_VARIABLE}: set it to the new secret: make one with "openssl rand -base64 48" and keep it safe`,
      )
    if (newSecret === from)
      throw new StartError(
        `${NEW_SECRET_VARIABLE}: it is the secret that SIXWIRE_SECRET holds: make another one`,
      )
    return checkedSecret(NEW_SECRET_VARIABLE, newSecret)
  }
  if (newSecret)
    throw new StartError(
      `${NEW_SECRET_VARIABLE}: remove it: the secret is the file ${dataDir}/secret, and a new one is created`,
    )
  return undefined
}

/** The new secret, written down before anything is encrypted under it. A dry run only needs another one. */
const nextInFile = async (dataDir: string, from: string, isDryRun: boolean): Promise<string> =>
  isDryRun ? `${from} dry run` : createNextSecret(dataDir)
