import { Field } from './form.tsx'
import { installation } from './installation.ts'
import { production } from './session.ts'

/** What is typed before danger in production: the name of the installation. Elsewhere undefined. */
export const nameToType = (): string | undefined =>
  production.value ? (installation.value?.name ?? '') : undefined

const FIELD = 'installation-name'

/** The field of a form for the name of the installation; nothing outside production. */
export function InstallationName({ onText }: { onText?: (text: string) => void }) {
  const name = nameToType()
  if (name === undefined) return null
  return <Field name={FIELD} label={`Type ${name} to continue`} {...(onText && { onText })} required />
}

/** @throws Error if a form has another name than that of the installation, in production */
export function checkInstallationName(value: (name: string) => string): void {
  const name = nameToType()
  if (name !== undefined && value(FIELD).trim() !== name)
    throw new Error(`Type ${name}, the name of this installation, to continue.`)
}
