// Uploads one file of so many bytes from a process of its own, so that sending it does not delay what another measures.
import { openFileClient } from './file-client.ts'

const [base = '', token = '', size = ''] = process.argv.slice(2)
const client = openFileClient({ base, token }, 1)
await client.upload(Number(size))
client.close()
