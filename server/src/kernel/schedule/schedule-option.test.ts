import assert from 'node:assert/strict'
import { test } from 'node:test'

import { checkSchedules } from './schedule-option.ts'

const NOW = Date.UTC(2027, 0, 1)
const run = () => undefined

for (const [name, option, line] of [
  ['a list', [], /^schedule: write an object/],
  ['a name', { 'a b': { cron: '@daily', run } }, /^schedule: "a b" can't be a name/],
  ['no object', { digest: '@daily' }, /^schedule\.digest: write an object/],
  [
    'an unknown key',
    { digest: { cron: '@daily', timezone: 'UTC', run } },
    /^schedule\.digest: there is no field "timezone": did you mean timeZone\?$/,
  ],
  ['no work', { digest: { cron: '@daily' } }, /^schedule\.digest: run is missing: it takes a function$/],
  ['no function', { digest: { cron: '@daily', run: 'mail' } }, /^schedule\.digest: run can't be "mail"/],
  ['no cron', { digest: { run } }, /^schedule\.digest: cron is missing/],
  [
    'another word for missed times',
    { digest: { cron: '@daily', missed: 'all', run } },
    /^schedule\.digest: missed can't be "all": it takes one of once, skip$/,
  ],
  [
    'an unknown time zone',
    { digest: { cron: '@daily', timeZone: 'Europe/Zurigo', run } },
    /^schedule\.digest\.timeZone: there is no time zone "Europe\/Zurigo"/,
  ],
  [
    'a day that never comes',
    { digest: { cron: '0 0 30 2 *', run } },
    /^schedule\.digest\.cron: "0 0 30 2 \*" never comes/,
  ],
] as const)
  test(`a schedule is refused for ${name}`, () =>
    assert.rejects(checkSchedules(option, NOW), { name: 'StartError', message: line }))

for (const [cron, fault] of [
  ['60 7 * * *', 'the minute can\'t be "60"'],
  ['0 24 * * *', 'the hour can\'t be "24"'],
  ['0 7 0 * *', 'the day of the month can\'t be "0"'],
  ['0 7 L * *', 'the day of the month can\'t be "L"'],
  ['0 7 * 13 *', 'the month can\'t be "13"'],
  ['0 7 * * 8', 'the day of the week can\'t be "8"'],
  ['0 7 * * 1#2', 'the day of the week can\'t be "1#2"'],
  ['0 7 * * fri-mon', 'the day of the week can\'t be "fri-mon"'],
  ['*/0 * * * *', 'the minute can\'t be "*/0"'],
  ['7 * * *', 'it takes five fields, like 0 7 * * 1-5, or one of @hourly'],
  ['0 0 7 * * *', 'it takes five fields'],
  ['2027-01-01T00:00:00', 'it takes five fields'],
  ['@reboot', 'there is no @reboot: there are @hourly, @daily, @weekly, @monthly, @yearly'],
] as const)
  test(`the cron ${cron} is refused: ${fault}`, () =>
    assert.rejects(checkSchedules({ digest: { cron, run } }, NOW), (error: Error) => {
      assert.equal(error.name, 'StartError')
      assert.ok(error.message.startsWith(`schedule.digest.cron: ${fault}`), error.message)
      return true
    }))

test('what is left out has its default', async () => {
  const [one] = await checkSchedules({ digest: { cron: '@daily', run } }, NOW)
  const { times: _, ...schedule } = one!
  assert.deepEqual(schedule, { name: 'digest', cron: '@daily', timeZone: 'UTC', missed: 'once', run })
})
