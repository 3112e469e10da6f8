// Gives TypeScript 6 to a program that imports `typescript`, under `node --import`: generators of TypeScript clients use the
// compiler's JavaScript API, which TypeScript 7 does not have.
import { registerHooks } from 'node:module'

registerHooks({
  resolve: (name, context, next) => next(name === 'typescript' ? 'typescript-6' : name, context),
})
