import { signal } from '@preact/signals'

import type { Api, CallReply } from '../../../client/src/index.ts'
import { anonymous, production, unlockedUntil } from './session.ts'

/** What the server says of itself to anybody who opens the console. */
export type Installation = CallReply<Api, 'GET /console/state'>

export const installation = signal<Installation | undefined>(undefined)

/** @throws CallError; TypeError if the server does not answer */
export async function loadInstallation(): Promise<void> {
  installation.value = await anonymous.call('GET /console/state')
  const { style } = document.documentElement
  for (const name of ['accent', 'fill', 'tint'] as const) {
    const colors = installation.value.colors?.[name]
    if (colors) style.setProperty(`--${name}`, `light-dark(${colors.join(', ')})`)
    else style.removeProperty(`--${name}`)
  }
  production.value = installation.value.production
}

/** Whether a wire is loaded. */
export const hasWire = (name: string): boolean => installation.value?.wires.includes(name) ?? false

const UNLOCKED_MS = 30 * 60_000
let timer: ReturnType<typeof setTimeout> | undefined

/** Allows changes in production for 30 minutes, or ends that. */
export function unlock(isOn: boolean): void {
  clearTimeout(timer)
  unlockedUntil.value = isOn ? Date.now() + UNLOCKED_MS : 0
  if (isOn) timer = setTimeout(() => (unlockedUntil.value = 0), UNLOCKED_MS)
}
