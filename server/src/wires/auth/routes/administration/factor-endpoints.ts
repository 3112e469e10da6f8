import { Type } from '../../../../base/schema.ts'
import { endpoint } from '../../../../http/route.ts'
import type { Accounts } from '../../administration/accounts.ts'
import { requireAdministrator } from './administrator.ts'
import { Message } from '../schemas.ts'

/** The endpoint by which an administrator lets a user in again who has lost all second factors. */
export const removeFactors = (accounts: Accounts) =>
  endpoint(
    {
      summary: 'Remove all second factors of an account',
      description:
        'For a user who has lost them: check first who asks. All sessions of the account end, and its owner is told by email. The next sign-in needs one factor only. Those of an administrator are removed by administrators only, not by service keys.',
      access: 'operator',
      proof: 'recent',
      params: Type.Object({ id: Type.String({ examples: ['01arz3ndektsv4rrffq69g5fav'] }) }),
      reply: { 200: Message },
    },
    async ({ params, caller, actor }) => {
      const { role } = await accounts.details({ id: params.id })
      // A key that signs in as an administrator could do more than before.
      if (role !== 'user') requireAdministrator(caller)
      const { email } = await accounts.removeFactors({ id: params.id }, actor)
      return { message: `${email} has no second factor now, and all its sessions have ended.` }
    },
  )
