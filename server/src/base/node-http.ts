// What Sixwire uses of node:http. An ES import of it reads each of its exports, one of which loads all of Node's fetch:
// 40 ms of processor time at each start, and 16 MB of memory.
export const { Agent, createServer, globalAgent, METHODS, request, STATUS_CODES } =
  process.getBuiltinModule('node:http')
