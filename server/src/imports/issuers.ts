/** Issuers of identities that are the same for all applications, by the names that other systems give to providers. */
export const ISSUERS: Readonly<Record<string, string>> = {
  apple: 'https://appleid.apple.com',
  github: 'https://api.github.com',
  google: 'https://accounts.google.com',
}
