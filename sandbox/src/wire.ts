import { once } from '../../server/src/base/once.ts'
import type { OpenStandIns } from '../../server/src/kernel/wire/stand-ins.ts'
import { defineWire } from '../../server/src/kernel/wire/wire.ts'
import { sandboxAsset } from './asset.ts'
import { createSandbox } from './index.ts'

/** The tables of the sandbox, for those who have to do with them while it is not open. */
export const SANDBOX_TABLES = {
  name: 'sandbox',
  migrations: sandboxAsset('migrations/'),
  isBuiltIn: true,
} as const

/** Opens the sandbox, and makes the wire that serves it below `/sandbox`. */
export const openSandbox: OpenStandIns = async ({ configured, lists, ...context }, unconfigured) => {
  const sandbox = createSandbox(context)
  const close = once(() => sandbox.close())
  try {
    await sandbox.open(unconfigured)
  } catch (error) {
    await close()
    throw error
  }
  const wire = defineWire({
    name: 'sandbox',
    migrations: SANDBOX_TABLES.migrations,
    setup: () => ({
      routes: [],
      service: undefined,
      mounts: [{ prefix: '/sandbox', plugin: sandbox.plugin, hosts: sandbox.hosts }],
      start: () => sandbox.start(configured(), lists()),
      quiet: () => sandbox.endStreams(),
      close,
    }),
  })
  // A stand-in may be used without the wire of its provider, by a client of the application's own.
  return { variables: sandbox.variables, wire: { ...wire(), isBuiltIn: true, isUnlisted: true }, close }
}
