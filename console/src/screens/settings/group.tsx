import { useState } from 'preact/hooks'

import { loadInstallation } from '../../parts/installation.ts'
import { openLate } from '../../parts/late.tsx'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { messageOf } from '../../parts/load.tsx'
import { canWrite } from '../../parts/session.ts'
import { changeSettings, checksOf, type SettingCheck } from '../../parts/settings.ts'
import { toast } from '../../parts/toast.tsx'
import { labelOf, PROVIDERS, wordsOf, type ConsoleOption, type ConsoleSettings } from './groups.ts'
import { Refused } from './refused.tsx'

/** What was not saved, and why. */
type NotSaved = { checks: readonly SettingCheck[]; values: Record<string, unknown> }

/** The form of the options that are set together. */
export default function SettingGroup({
  group,
  settings,
  again,
}: {
  group: string
  settings: ConsoleSettings
  again: () => void
}) {
  const [refused, setRefused] = useState<NotSaved>()
  const [, title, about] = wordsOf(group)
  const options = settings.options.filter((one) => one.group === group)
  const mayChange =
    canWrite.value && settings.canChange && options.some(({ lockedBy }) => lockedBy === undefined)

  async function save(values: Record<string, unknown>, force = false): Promise<void> {
    if (Object.keys(values).length === 0) return toast('Nothing was changed.')
    setRefused(undefined)
    try {
      await changeSettings(values, { version: settings.version, force })
      if (group === 'general') await loadInstallation()
      toast('Saved, and in force.')
      again()
    } catch (error) {
      const checks = checksOf(error)
      if (checks.length === 0) throw error
      setRefused({ checks, values })
      throw new Error('Nothing was saved: a provider does not answer as it should.', { cause: error })
    }
  }
  const orTell = (saved: Promise<void>): void =>
    void saved.catch((error: unknown) => toast(messageOf(error), { tone: 'bad' }))

  if (options.length === 0) return <h2 tabIndex={-1}>{`There are no settings of ${title}.`}</h2>
  return (
    <>
      <h2 tabIndex={-1}>{title}</h2>
      <p class="soft">{about}.</p>
      {refused && <Refused checks={refused.checks} act={() => orTell(save(refused.values, true))} />}
      <Form
        label={title}
        submit="Check and save"
        disabled={!mayChange}
        send={(value) => save(changesOf(options, value))}
        buttons={
          options.some(({ source }) => source === 'console') && (
            <button type="button" disabled={!mayChange} onClick={() => orTell(save(allUnset(options)))}>
              {group.startsWith(PROVIDERS) ? 'Remove' : 'Back to the defaults'}
            </button>
          )
        }
      >
        {options.map((one) => (
          <OptionField key={one.option} option={one} isLocked={!mayChange || one.lockedBy !== undefined} />
        ))}
      </Form>
      {group.startsWith('messaging.') && options.some(({ value }) => value !== null) && (
        <button
          type="button"
          disabled={!canWrite.value}
          onClick={() => openLate(() => import('./send-test.tsx'), {})}
        >
          Send a test…
        </button>
      )}
    </>
  )
}

const nameOf = ({ option }: ConsoleOption): string => `values/${option}`

function OptionField({ option, isLocked }: { option: ConsoleOption; isLocked: boolean }) {
  const { kind, choices = [], description, lockedBy, value, source, isSecret } = option
  const own = source === 'console' && !isHidden(option) ? textOf(value) : ''
  const shown = value === null ? '' : `${textOf(value)}${source === 'default' ? ' (default)' : ''}`
  const hint = lockedBy === undefined ? description : `Set by ${lockedBy}: change it there.`
  const common = { name: nameOf(option), label: labelOf(option), hint, disabled: isLocked }
  if (kind === 'choice' || kind === 'boolean')
    return (
      <Choice
        {...common}
        defaultValue={own}
        options={[
          ['', own === '' ? shown || 'Not set' : 'Default'],
          ...(kind === 'boolean' ? YES_NO : choices.map((one) => [one, one] as const)),
        ]}
      />
    )
  if (kind === 'list')
    return <Field {...common} lines={3} defaultValue={own} placeholder={shown || 'One a line'} />
  return (
    <Field
      {...common}
      type={isSecret ? 'password' : kind === 'text' ? 'text' : 'number'}
      autoComplete={isSecret ? 'new-password' : 'off'}
      defaultValue={own}
      placeholder={isHidden(option) && value !== null ? `${textOf(value)}: write it to change it` : shown}
      {...(option.minimum !== undefined && { min: option.minimum })}
      {...(option.maximum !== undefined && { max: option.maximum })}
      {...(kind === 'number' && { step: 'any' as const })}
    />
  )
}

const YES_NO = [
  ['true', 'Yes'],
  ['false', 'No'],
] as const

/** Whether its value, or a part of it, is never shown: an empty field leaves it as it is. */
const isHidden = ({ isSecret, value }: ConsoleOption): boolean =>
  isSecret || (typeof value === 'string' && value.includes('***'))

const textOf = (value: unknown): string =>
  Array.isArray(value)
    ? value.join('\n')
    : typeof value === 'string'
      ? value
      : value === null
        ? ''
        : JSON.stringify(value)

/** What differs from what is set. */
function changesOf(
  options: readonly ConsoleOption[],
  value: (name: string) => string,
): Record<string, unknown> {
  const changes: Record<string, unknown> = {}
  for (const one of options) {
    if (one.lockedBy !== undefined) continue
    const text = value(nameOf(one)).trim()
    const before = one.source === 'console' && !isHidden(one) ? textOf(one.value) : ''
    if (text !== before) changes[one.option] = text === '' ? null : READERS[one.kind](text)
  }
  return changes
}

const READERS: Readonly<Record<ConsoleOption['kind'], (text: string) => unknown>> = {
  text: String,
  choice: String,
  number: Number,
  integer: Number,
  boolean: (text) => text === 'true',
  webhook: JSON.parse,
  list: (text) =>
    text
      .split('\n')
      .map((one) => one.trim())
      .filter((one) => one !== ''),
}

const allUnset = (options: readonly ConsoleOption[]): Record<string, null> =>
  Object.fromEntries(options.filter(({ source }) => source === 'console').map(({ option }) => [option, null]))
