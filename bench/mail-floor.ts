// nodemailer used bare: over so many connections, for so many callers at a time, for so long. Prints how many were accepted.
import { createTransport } from 'nodemailer'

const [url = '', connections = '', callers = '', seconds = ''] = process.argv.slice(2)
const pool = createTransport({ url, pool: true, maxConnections: Number(connections), maxMessages: Infinity })
const until = performance.now() + Number(seconds) * 1000
let sent = 0

async function lane(): Promise<void> {
  for (; performance.now() < until; sent++)
    await pool.sendMail({
      from: 'bench@example.com',
      to: 'somebody@example.com',
      subject: 'A mail of the bench',
      html: '<p>A few words, as a shop would send them.</p>',
      text: 'A few words, as a shop would send them.',
    })
}

await Promise.all(Array.from({ length: Number(callers) }, lane))
pool.close()
console.log(sent)
