import type { Clock } from '../../base/clock.ts'
import { guarded } from '../../providers/guard.ts'
import { trackCalls } from '../../providers/under-way.ts'
import type { MailProvider, TextProvider } from './provider.ts'

const isSent = ({ id }: Readonly<Record<string, unknown>>): boolean => typeof id === 'string' && id !== ''

/** A mail provider, ours or an operator's own, that always answers an outcome. */
export function guardMailProvider(provider: MailProvider, clock: Clock): MailProvider {
  const calls = trackCalls()
  return {
    ...commonOf(provider, calls),
    channel: provider.channel,
    send: (mail, limitMs) =>
      calls.track(guarded(() => provider.send(mail, limitMs), { limitMs, clock, isAccepted: isSent })),
  }
}

/**
 * A text provider, ours or an operator's own, that always answers an outcome.
 *
 * @param reportTo the URL for the reports of a message, by our id of it
 */
export function guardTextProvider(
  provider: TextProvider,
  clock: Clock,
  reportTo: (id: string) => string,
): TextProvider {
  const calls = trackCalls()
  return {
    ...commonOf(provider, calls),
    channel: provider.channel,
    // Not stored with the text: the public URL of this server may change before the next try.
    send: (text, limitMs) =>
      calls.track(
        guarded(() => provider.send({ ...text, reportTo: reportTo(text.id) }, limitMs), {
          limitMs,
          clock,
          isAccepted: isSent,
        }),
      ),
    ...(provider.find && {
      async find(text, since, limitMs) {
        const ids: unknown = await provider.find!(text, since, limitMs)
        if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string'))
          throw new TypeError(`${provider.name} answered no list of ids`)
        return ids
      },
    }),
  }
}

/** What both kinds have, whether the provider is a plain object or an instance of a class. */
const commonOf = <P extends MailProvider | TextProvider>(
  provider: P,
  calls: ReturnType<typeof trackCalls>,
) => ({
  name: provider.name,
  check: async () => provider.check(),
  async close() {
    await calls.ended()
    await provider.close()
  },
  ...(provider.authorize && { authorize: provider.authorize.bind(provider) as NonNullable<P['authorize']> }),
  ...(provider.receive && { receive: provider.receive.bind(provider) as NonNullable<P['receive']> }),
})
