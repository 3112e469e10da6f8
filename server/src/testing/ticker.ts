import { LIBRARY } from './program.ts'

/**
 * The configuration file of a server with a stream at `/ticker`, a long poll at `/ticker/poll`, the number of streams at
 * `/ticker/count`, and `POST /ticker/:text`, which sends an event to all.
 */
export const TICKER_CONFIG = `
import { defineWire, eventStream, route, Type } from '${LIBRARY}'

const sinks = new Set()
const follow = () => eventStream((sink) => {
  sinks.add(sink)
  sink.write('data: open\\n\\n')
  return { drained() {}, ending: (reason) => 'data: ' + reason + '\\n\\n', closed: () => void sinks.delete(sink) }
})
const poll = () => eventStream((sink) => {
  sink.end('{"answer":1}')
  return { drained() {}, ending: () => '{}', closed() {} }
}, 'application/json')
const ticker = defineWire({
  name: 'ticker',
  setup: () => ({
    service: undefined,
    routes: [
      route('GET /ticker', { summary: 'Follow', access: 'public', stream: true, reply: { 200: Type.Unknown() } }, follow),
      route('GET /ticker/poll', { summary: 'Poll', access: 'public', stream: true, reply: { 200: Type.Unknown() } }, poll),
      route('GET /ticker/count', { summary: 'Count', access: 'public', reply: { 200: Type.Unknown() } }, () => sinks.size),
      route('POST /ticker/:text', { summary: 'Send', access: 'public', reply: { 200: Type.Unknown() } }, ({ params }) => {
        for (const sink of sinks) sink.write('data: ' + params.text + '\\n\\n')
        return {}
      }),
    ],
  }),
})
export default { wires: [ticker()] }
`
