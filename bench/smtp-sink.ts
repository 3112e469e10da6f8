// A mail server in a process of its own that takes everything and keeps nothing. Prints its port.
import type { AddressInfo } from 'node:net'

import { SMTPServer } from 'smtp-server'

const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS', 'AUTH'],
  disableReverseLookup: true,
  onData(stream, _session, done) {
    stream.on('end', () => done()).resume()
  },
})
server.listen(0, '127.0.0.1', () => console.log((server.server.address() as AddressInfo).port))
