/** The issuers of providers, by the names that systems give them: those that are the same for all applications. */
export const ISSUERS: Readonly<Record<string, string>> = {
  apple: 'https://appleid.apple.com',
  github: 'https://api.github.com',
  google: 'https://accounts.google.com',
}

/** What to say of identities at other providers. */
export const lostIdentities = (provider: string, count: number): string =>
  `sign-ins with ${provider} do not come (${count}): they are linked again at the next sign-in, if the address is verified`
