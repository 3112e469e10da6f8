/** What a call is rejected with that its signal aborts. React Native's signals have no reason. */
export const abortError = ({ reason }: AbortSignal): Error =>
  (reason as Error | undefined) ?? Object.assign(new Error('Aborted.'), { name: 'AbortError' })

/** Waits for work of which other calls wait too: a signal ends this waiting only. */
export const orAbort = <T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> =>
  signal
    ? new Promise((resolve, reject) => {
        const stop = () => reject(abortError(signal))
        if (signal.aborted) stop()
        signal.addEventListener('abort', stop)
        void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
      })
    : work
