import { defineConfig } from 'sixwire'

import { loyalty } from './loyalty/index.ts'

export default defineConfig({
  name: 'shop',
  version: '1.0.0',
  auth: { local: { passwordMinLength: 10 } },
  store: {
    collections: {
      products: 'public-read', // everybody reads the catalogue; the owner of a product changes it
      reviews: { read: 'public', create: 'user', update: 'owner', delete: 'owner' },
      prices: 'admin',
    },
  },
  wires: [loyalty({ welcomePoints: 100 })],
})
