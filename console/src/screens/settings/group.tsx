import { useState } from 'preact/hooks'

import { isError } from '../../../../client/src/index.ts'
import { openLate } from '../../parts/late.tsx'
import { withProof } from '../../parts/dialog.tsx'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { messageOf } from '../../parts/load.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Text } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import { labelOf, wordsOf, type ConsoleOption, type ConsoleSettings } from './groups.ts'

type Check = { check: string; fault: string }
/** What was not saved, and why. */
type Refused = { checks: readonly Check[]; values: Record<string, unknown> }

/** How often, in milliseconds, and how many times it is asked whether settings are in force. */
const LOOK_MS = 300
const LOOKS = 60

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
  const [refused, setRefused] = useState<Refused>()
  const [, title, about] = wordsOf(group)
  const options = settings.options.filter((one) => one.group === group)
  const mayChange =
    canWrite.value && settings.canChange && options.some(({ lockedBy }) => lockedBy === undefined)

  async function save(values: Record<string, unknown>, force = false): Promise<void> {
    if (Object.keys(values).length === 0) return toast('Nothing was changed.')
    setRefused(undefined)
    try {
      const body = { version: settings.version, values }
      const changed = await withProof(() => six.call('PATCH /core/settings', { query: { force }, body }))
      if (!changed.inForce) await untilInForce(changed.version)
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

  return (
    <>
      <h2 tabIndex={-1}>{title}</h2>
      <p class="soft">{about}.</p>
      {refused && (
        <div class="notice warning">
          <ul>
            {refused.checks.map(({ check, fault }) => (
              <li key={check}>
                <Text>{`${check}: ${fault}`}</Text>
              </li>
            ))}
          </ul>
          <button type="button" onClick={() => orTell(save(refused.values, true))}>
            Save nevertheless
          </button>
        </div>
      )}
      <Form
        label={title}
        submit="Check and save"
        disabled={!mayChange}
        send={(value) => save(changesOf(options, value))}
        buttons={
          options.some(({ source }) => source === 'console') && (
            <button type="button" disabled={!mayChange} onClick={() => orTell(save(allUnset(options)))}>
              Back to the defaults
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

const checksOf = (error: unknown): readonly Check[] =>
  isError(error, 'SETTINGS_REFUSED') ? (error.details as { checks: Check[] }).checks : []

/** With the sandbox a server answers again only after a moment. */
async function untilInForce(version: number): Promise<void> {
  for (let look = 0; look < LOOKS; look++) {
    const now = await six.call('GET /core/settings', {})
    if (now.fault !== undefined) throw new Error(now.fault)
    if (now.inForce && now.version >= version) return
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
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
