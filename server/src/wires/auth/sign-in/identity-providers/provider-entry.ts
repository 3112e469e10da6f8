import { StartError } from '../../../../base/start-error.ts'
import { openApple, type AppleEntry } from './apple.ts'
import { openMicrosoft, type MicrosoftEntry } from './microsoft.ts'
import { openOidc, type OidcEntry, type ProviderPlace } from './oidc.ts'
import { BUILT_IN_NAMES, type IdentityProvider } from './identity-provider.ts'

/** An entry of `auth.providers`, as `oidc()`, `apple()` and `microsoft()` make them. */
export type ProviderEntry = OidcEntry | AppleEntry | MicrosoftEntry

const NAME = /^[a-z][a-z\d-]{0,31}$/

/**
 * The provider of an entry.
 *
 * @throws StartError with the option that is wrong and why
 */
export function openEntry({
  entry,
  place,
}: {
  entry: ProviderEntry
  place: ProviderPlace
}): IdentityProvider {
  const { name, option } = place
  if (!NAME.test(name))
    throw new StartError(
      `${option}: "${name}" can't be a name: use up to 32 lower-case letters, digits and hyphens, with a letter first`,
    )
  if (BUILT_IN_NAMES.includes(name))
    throw new StartError(`${option}: this name is taken: configure auth.${name}, or choose another name`)
  switch (entry.kind) {
    case 'oidc':
    case undefined:
      return openOidc({ place, entry })
    case 'apple':
      return openApple({ place, entry })
    case 'microsoft':
      return openMicrosoft({ place, entry })
    default:
      // In plain JavaScript it may be anything.
      throw new StartError(`${option}: it takes oidc({ … }), apple({ … }) or microsoft({ … })`)
  }
}
