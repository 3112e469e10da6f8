import { loadConfig } from '../app.ts'
import { configFileName } from '../kernel/config/config-file.ts'
import { checkVariables, readSettings } from '../kernel/config/config.ts'
import { checkOptions } from '../kernel/wire/options.ts'
import { checkWebhooks } from '../kernel/events/webhook-option.ts'
import { checkSchedules } from '../kernel/schedule/schedule-option.ts'
import { settingsInForce, type SettingInForce } from '../wires/core/settings-in-force.ts'
import { chooseWires, configuredWires } from '../wires.ts'
import { defineAction } from './command.ts'
import { SETTING_OPTIONS, withSettings, type Environment } from './environment.ts'
import { JSON_OPTION } from './option.ts'
import { print, table } from './print.ts'

const VALUE_CHARACTERS = 60

export const config = defineAction({
  summary: 'Show the settings that are in force, and where each is from',
  options: { ...SETTING_OPTIONS, ...JSON_OPTION },
  details: `Shows what start would run with: from the command line, the environment, .env, sixwire.config.ts or the
default. Secrets are masked; of the texts of your own wires only defaults and the values of an enum are shown.
Options of wires that have no value are left out, and nothing is opened or created.`,
  async run({ options: { json, ...settings }, environment }) {
    const found = await inForce(process.cwd(), withSettings(environment, settings))
    print(json, found, () => table(['SETTING', 'VALUE', 'FROM', 'VARIABLE'], found.map(rowOf)))
    return 0
  },
})

async function inForce(folder: string, environment: Environment): Promise<SettingInForce[]> {
  const { variables } = environment
  const input = await loadConfig(folder)
  const all = configuredWires(input)
  checkVariables(
    variables,
    all.flatMap((wire) => Object.keys(wire.variables)),
  )
  const schedules = await checkSchedules(input.schedule, Date.now())
  const settings = await readSettings(input, variables, folder)
  const webhooks = checkWebhooks(input.webhooks, settings)
  return settingsInForce(
    {
      settings,
      input,
      wireOptions: checkOptions(chooseWires(all, settings), variables),
      schedules,
      webhooks,
    },
    {
      sourceOf: (name) => environment.sourceOf(name),
      configFile: configFileName(folder) ?? 'sixwire.config.ts',
    },
  )
}

function rowOf({ option, variable, value, source }: SettingInForce): string[] {
  const text = typeof value === 'string' ? value : value === null ? '-' : JSON.stringify(value)
  const short = text.length > VALUE_CHARACTERS ? `${text.slice(0, VALUE_CHARACTERS - 1)}…` : text
  return [option, short.replaceAll(/\s+/g, ' '), source, variable ?? '']
}
