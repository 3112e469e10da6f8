import { Type } from '../../../base/schema.ts'
import { endpoint } from '../../../http/route.ts'
import type { Accounts } from './accounts.ts'
import { Message } from '../schemas.ts'

/** The endpoint by which an administrator lets a user in again who has lost all second factors. */
export const removeFactors = (accounts: Accounts) =>
  endpoint(
    {
      summary: 'Remove all second factors of an account',
      description:
        'For a user who has lost them: check first who asks. All sessions of the account end, and its owner is told by email. The next sign-in needs one factor only.',
      access: 'operator',
      proof: 'factor',
      params: Type.Object({ id: Type.String({ examples: ['01arz3ndektsv4rrffq69g5fav'] }) }),
      reply: { 200: Message },
    },
    async ({ params, actor }) => {
      const { email } = await accounts.removeFactors({ id: params.id }, actor)
      return { message: `${email} has no second factor now, and all its sessions have ended.` }
    },
  )
