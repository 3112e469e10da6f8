import { defineConfig } from 'sixwire'

import { notes } from './wires/notes/index.ts'

// The environment and .env take precedence: "npx sixwire config" shows what is in force.
export default defineConfig({
  wires: [notes()],
})
