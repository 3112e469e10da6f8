import type { CollectionDeclaration } from '../../wires/store/index.ts'
import type { Acl } from './parse-object.ts'

const isUser = (who: string): boolean => who !== '*' && !who.startsWith('role:')

/** The account that an object belongs to: the only user who may write it. */
export function ownerOf(acl: Acl | undefined): string | undefined {
  const users = acl?.write.filter(isUser) ?? []
  return users.length === 1 ? users[0] : undefined
}

/** What the ACLs of a class have in common. */
export function createAclSummary() {
  const counts = { open: 0, publicRead: 0, ownersOnly: 0, others: 0 }
  return {
    add(acl: Acl | undefined): void {
      const owner = ownerOf(acl)
      const isOwners = owner !== undefined && acl!.write.length === 1
      const readers = acl?.read.filter((one) => one !== owner) ?? []
      if (!acl) counts.open++
      else if (isOwners && readers.length === 0) counts.ownersOnly++
      else if (isOwners && readers.includes('*')) counts.publicRead++
      else counts.others++
    },
    /** The word for the collection, and why it is another one than that of some objects. */
    access(): { word: 'owner' | 'public-read'; notes: string[] } {
      const { open, publicRead, ownersOnly, others } = counts
      if (publicRead > 0 && open + ownersOnly + others === 0) return { word: 'public-read', notes: [] }
      if (open + publicRead + others === 0) return { word: 'owner', notes: [] }
      const kinds = [
        [ownersOnly, 'only their owner reads and writes'],
        [publicRead, 'everybody reads and their owner writes'],
        [open, 'have no ACL, so that everybody reads and writes'],
        [others, 'have an ACL with roles, several users or none'],
      ] as const
      const shown = kinds.flatMap(([count, text]) => (count === 0 ? [] : [`${count} of which ${text}`]))
      return {
        word: 'owner',
        notes: [
          `objects differ in their ACLs or belong to nobody, and are here their owner's only: ${shown.join('; ')}`,
        ],
      }
    },
  }
}

/** What `_SCHEMA` says of a class: who may do what with its objects, as far as their ACLs allow it, and which fields are not shown. */
export type ClassPermissions = Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>

const OWNER = { read: 'owner', create: 'user', update: 'owner', delete: 'owner' } as const
const ACCESS = { owner: OWNER, 'public-read': { ...OWNER, read: 'public' } } as const
const OPERATIONS = {
  read: ['find', 'get'],
  create: ['create'],
  update: ['update'],
  delete: ['delete'],
} as const

/**
 * The rules of a collection.
 *
 * @param permissions undefined: ACLs alone decide. What not all users may do is for administrators
 */
export function accessOf(
  word: keyof typeof ACCESS,
  permissions: ClassPermissions | undefined,
): Pick<CollectionDeclaration, 'read' | 'create' | 'update' | 'delete' | 'hidden'> {
  const access: Record<keyof typeof OPERATIONS, 'public' | 'user' | 'owner' | 'admin'> = { ...ACCESS[word] }
  if (permissions === undefined) return access
  const all = (operations: readonly string[], who: string): boolean =>
    operations.every((name) => permissions[name]?.['*'] === true || permissions[name]?.[who] === true)
  for (const action of ['read', 'create', 'update', 'delete'] as const)
    if (!all(OPERATIONS[action], 'requiresAuthentication')) access[action] = 'admin'
  if (access.read === 'public' && !all(OPERATIONS.read, '*')) access.read = 'user'
  const hidden = permissions['protectedFields']?.['*']
  return { ...access, ...(Array.isArray(hidden) && hidden.length > 0 && { hidden: hidden as string[] }) }
}
