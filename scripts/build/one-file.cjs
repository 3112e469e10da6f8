// The program in one file begins here: it writes the package and the Node modules with machine code to a folder, once, and
// runs them from there. A library can't be loaded from inside of a file.
const { createHash } = require('node:crypto')
const {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} = require('node:fs')
const { createRequire } = require('node:module')
const { homedir } = require('node:os')
const { dirname, isAbsolute, join, resolve } = require('node:path')
const { getAsset } = require('node:sea')
const { zstdDecompressSync } = require('node:zlib')

/**
 * @typedef {{ path: string, bytes: number, sha256: string }} File
 * @typedef {{ hash: string, files: File[] }} Manifest
 */

const { hash, files } = /** @type {Manifest} */ (JSON.parse(getAsset('manifest.json', 'utf8')))

/** The folder of all versions, by https://specifications.freedesktop.org/basedir-spec/latest/ unless it is named. */
function parentFolder() {
  const { SIXWIRE_PROGRAM_DIR: named, XDG_CACHE_HOME: cache } = process.env
  if (named) return resolve(named)
  return join(cache && isAbsolute(cache) ? cache : join(homedir(), '.cache'), 'sixwire')
}

/**
 * Whether nobody but root and this user can put another file in the place of one below a folder.
 *
 * @param {string} path without links
 * @returns {boolean}
 */
function isSafe(path) {
  const { uid, mode } = lstatSync(path)
  const isOurs = uid === 0 || uid === process.getuid?.()
  const isShared = (mode & 0o022) !== 0
  // In a folder such as /tmp others can't move what is not theirs.
  const isSticky = (mode & 0o1000) !== 0
  return isOurs && (!isShared || isSticky) && (path === dirname(path) || isSafe(dirname(path)))
}

/** @param {string} folder */
function check(folder) {
  const { uid, mode } = lstatSync(folder)
  if (process.getuid && (uid !== process.getuid() || (mode & 0o077) !== 0 || !isSafe(dirname(folder))))
    throw new Error(
      `${folder} is not a folder of this user alone (mode 0700), or another user may write to one above it`,
    )
  for (const { path, sha256 } of files)
    if (
      createHash('sha256')
        .update(readFileSync(join(folder, path)))
        .digest('hex') !== sha256
    )
      throw new Error(`${join(folder, path)} is not what this program wrote there: remove ${folder}`)
}

/**
 * Writes all files beside the folder and then renames: of several programs that start at once one wins.
 *
 * @param {string} parent
 * @param {string} folder
 */
function write(parent, folder) {
  const draft = mkdtempSync(join(parent, 'new-')) // of mode 0700
  try {
    const content = zstdDecompressSync(Buffer.from(getAsset('content')))
    let at = 0
    for (const { path, bytes } of files) {
      mkdirSync(dirname(join(draft, path)), { recursive: true })
      writeFileSync(join(draft, path), content.subarray(at, (at += bytes)))
    }
    renameSync(draft, folder)
  } catch (error) {
    rmSync(draft, { recursive: true })
    if (!lstatSync(folder, { throwIfNoEntry: false })) throw error
  }
}

function writtenFolder() {
  const wanted = parentFolder()
  mkdirSync(wanted, { recursive: true, mode: 0o700 })
  // Without links: what is checked is what is loaded, however the path is changed meanwhile.
  const parent = realpathSync(wanted)
  const folder = join(parent, hash)
  if (!lstatSync(folder, { throwIfNoEntry: false })) write(parent, folder)
  check(folder)
  return folder
}

/** Loads the program, from the folder to which it is written. */
function load() {
  /** @type {string} */
  let folder
  try {
    folder = writtenFolder()
  } catch (error) {
    console.error(
      `sixwire: the program can't be unpacked: ${error instanceof Error ? error.message : String(error)}. SIXWIRE_PROGRAM_DIR can name another folder`,
    )
    process.exit(1)
  }
  createRequire(join(folder, 'main.js'))('./node_modules/sixwire/bin/sixwire.js')
}

// The program starts child processes by the absolute path of a module, as with Node itself. The folder of that module was verified by
// the parent process.
const [, , named = ''] = process.argv
if (isAbsolute(named)) createRequire(named)(named)
else load()
