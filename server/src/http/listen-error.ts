import { StartError } from '../base/start-error.ts'

/** The error line for a port that can't be opened. */
export function listenError(error: unknown, host: string, port: number): unknown {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return new StartError(
      `PORT: another program listens at ${host}:${port} already: end it, or choose another port`,
    )
  if (code === 'EACCES')
    return new StartError(`PORT: this user may not listen at ${host}:${port}: choose a port from 1024 on`)
  if (code === 'ENOTFOUND' || code === 'EADDRNOTAVAIL' || code === 'EAI_AGAIN')
    return new StartError(`HOST: "${host}" is not an address of this machine: ${message}`)
  return error
}
