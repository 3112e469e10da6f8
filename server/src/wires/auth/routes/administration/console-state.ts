import { paletteOf } from '../../../../base/color.ts'
import { Type } from '../../../../base/schema.ts'
import { endpoint } from '../../../../http/route.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import type { FirstAdmin } from '../../administration/first-admin.ts'

const DayAndNight = Type.Array(Type.String({ examples: ['#3b4cf0'] }), { minItems: 2, maxItems: 2 })

/** The endpoint of what the page of the console shows before anybody is signed in. */
export const consoleState = ({
  settings,
  server,
  firstAdmin,
}: Pick<WireContext, 'settings' | 'server'> & { firstAdmin: FirstAdmin }) =>
  endpoint(
    {
      summary: 'Get the state of the console before a sign-in',
      access: 'public',
      limit: '120/min',
      reply: {
        200: Type.Object(
          {
            name: Type.String({ description: 'Of the installation.' }),
            colors: Type.Optional(
              Type.Object(
                { accent: DayAndNight, fill: DayAndNight, tint: DayAndNight },
                { description: 'Made of the colour of the application, by day and by night.' },
              ),
            ),
            production: Type.Boolean(),
            firstRun: Type.Boolean({
              description: 'Whether the next account that registers becomes the administrator.',
            }),
            policy: Type.Enum(['open', 'guarded']),
            wires: Type.Array(Type.String()),
            hasScreens: Type.Boolean({ description: 'Whether a wire declares a screen of its own.' }),
            sandbox: Type.Boolean({ description: 'Whether stand-ins take the place of providers.' }),
          },
          { title: 'ConsoleState' },
        ),
      },
    },
    async () => ({
      name: settings.name,
      ...(settings.color !== undefined && { colors: paletteOf(settings.color) }),
      production: settings.production,
      firstRun: await firstAdmin.isFirstRun(),
      policy: settings.policy,
      wires: [...server.wires()],
      hasScreens: server.hasScreens(),
      sandbox: settings.sandbox,
    }),
  )
