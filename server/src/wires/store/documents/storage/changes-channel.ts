/** The channel on which processes notify each other of changed documents. */
export const CHANGES = 'sixwire_changes'
