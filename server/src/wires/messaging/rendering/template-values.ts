import type { TemplateValue } from './mustache-template.ts'

/** What every template has without the caller. */
export const GIVEN_TO_ALL = ['app', 'appUrl', 'appColor', 'appColorText']

const GIVEN = { template: GIVEN_TO_ALL, layout: [...GIVEN_TO_ALL, 'content', 'language', 'subject'] }

/** Whether a value is given by the server, and not by the caller. */
export const givenBy = (place: keyof typeof GIVEN, { name }: TemplateValue): boolean =>
  GIVEN[place].includes(name.slice(name.lastIndexOf('.') + 1))

/** Each value once, without those that are given: it is required if any part of the template requires it. */
export function mergedValues(used: readonly TemplateValue[]): TemplateValue[] {
  const values = new Map<string, boolean>()
  for (const value of used)
    if (!givenBy('template', value))
      values.set(value.name, (values.get(value.name) ?? false) || value.isRequired)
  return Array.from(values, ([name, isRequired]) => ({ name, isRequired }))
}

/** What values of these names are usually like; others are shown as their names. */
const USUAL: Readonly<Record<string, string>> = {
  name: 'Ada',
  code: '123456',
  digits: '123456',
  first: '123',
  last: '456',
  host: 'shop.example',
  device: 'Firefox on Linux',
  provider: 'Google',
  factor: 'Passkey "Laptop"',
  ip: '203.0.113.7',
  left: '7',
  number: '1007',
  amount: '25.00',
  currency: 'EUR',
  when: 'Sat, 21 Nov 2026 09:30:00 GMT',
  until: 'Sat, 28 Nov 2026 09:30:00 GMT',
  due: 'Sat, 28 Nov 2026 09:30:00 GMT',
}

/** Values to try a template with: `code.digits` is in an object of its own. */
export function sampleOf(values: readonly TemplateValue[], appUrl: string): Record<string, unknown> {
  const usual = new Map([...Object.entries(USUAL), ['link', `${appUrl}/example#token=of-this-preview`]])
  const sample = emptyRecord()
  for (const { name } of values) {
    const steps = name.split('.')
    const last = steps.pop()!
    let place = sample
    for (const step of steps) {
      const inner = place[step]
      if (isRecord(inner)) place = inner
      else place = place[step] = emptyRecord()
    }
    place[last] ??= usual.get(last) ?? last
  }
  return sample
}

// No name of a template can reach what objects inherit.
const emptyRecord = (): Record<string, unknown> => Object.create(null) as Record<string, unknown>
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
