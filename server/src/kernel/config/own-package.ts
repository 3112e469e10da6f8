import { registerHooks } from 'node:module'

import { asset, isBuilt } from '../../base/asset.ts'
import { once } from '../../base/once.ts'

const OWN = /^sixwire(\/|$)/
// A package can import itself by its name.
const INSIDE = asset('../package.json').href
const CONDITIONS = isBuilt ? [] : ['sixwire-source']

/**
 * Makes `sixwire` in an application's code this very program, whether the application has installed it or another copy: a
 * second one would have classes and locks of its own.
 */
export const shareOwnPackage = once(() =>
  registerHooks({
    resolve: (specifier, context, next) =>
      OWN.test(specifier)
        ? next(specifier, {
            ...context,
            parentURL: INSIDE,
            conditions: [...context.conditions, ...CONDITIONS],
          })
        : next(specifier, context),
  }),
)
