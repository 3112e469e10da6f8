/** What a call is rejected with that its signal aborts. React Native's signals have no reason. */
export const abortError = ({ reason }: AbortSignal): Error =>
  (reason as Error | undefined) ?? Object.assign(new Error('The call was aborted.'), { name: 'AbortError' })
