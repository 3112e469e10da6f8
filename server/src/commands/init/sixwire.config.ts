import { defineConfig, Type } from 'sixwire'

import { notes } from './wires/notes/index.ts'

const ofMembers = { members: '$$user._id' }

// The environment and .env take precedence: "npx sixwire config" shows what is in force.
export default defineConfig({
  store: {
    collections: {
      // POST /store/projects: { "title": "House", "slug": "house", "members": [your _id] }
      projects: {
        // Each of the members may do everything but delete the project, which is its owner's.
        read: ofMembers,
        create: ofMembers,
        update: ofMembers,
        delete: 'owner',
        schema: Type.Object({
          title: Type.String({ minLength: 1 }),
          slug: Type.String({ pattern: '^[a-z0-9-]+$' }),
          members: Type.Array(Type.String(), { minItems: 1 }),
        }),
        // No two projects have the same slug.
        unique: ['slug'],
      },
    },
  },
  wires: [notes()],
})
