// What an application imports as `sixwire/client`: the client is a workspace of its own.
export * from '../../client/src/index.ts'
