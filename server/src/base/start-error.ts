/** The server cannot start; the message is the one line that the operator reads: which setting is wrong, and why. */
export class StartError extends Error {
  override name = 'StartError'
}
