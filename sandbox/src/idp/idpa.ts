import type { StandIn, StandInContext } from '../stand-in.ts'
import { ADDRESS_AND_NAME, claimsOf, createIssuer } from './issuer.ts'

const LOOK = {
  dress: 'idpa',
  name: 'Provider A',
  protocol: 'OpenID Connect',
  scopes: ADDRESS_AND_NAME,
}

/** The issuer that stands in for `idpa`. */
export const createIdpa = (context: StandInContext): StandIn =>
  createIssuer(context, {
    kind: {
      name: 'idpa',
      look: LOOK,
      claimsOf,
      namesItself: true,
      variablesOf: ({ id, secret }, issuer) => ({
        IDPA_ISSUER: issuer,
        IDPA_CLIENT_ID: id,
        IDPA_CLIENT_SECRET: secret,
        IDPA_LABEL: LOOK.name,
      }),
    },
  })
