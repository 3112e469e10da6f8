/** The channel on which processes tell each other that documents have changed. */
export const CHANGES = 'sixwire_changes'
