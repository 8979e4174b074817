/**
 * A digest of the measured code: every measurement starts its processes from the current files, so an edit during a run would
 * mix two versions.
 */
import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Code of the processes of a measurement. */
const PARTS = ['bin', 'demo', 'lab', 'lua', 'readers', 'src', 'writers']
const FILES = ['package-lock.json', 'package.json', 'settings.js']

/** @param {string} root the folder of this package @returns {Promise<string>} the same for the same files */
export async function sourceDigest (root) {
  const listed = await Promise.all(PARTS.map(async (part) => (await readdir(join(root, part), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name))))
  const files = [...listed.flat().sort(), ...FILES.map((name) => join(root, name))]
  const hash = createHash('sha1')
  for (const [i, bytes] of (await Promise.all(files.map((file) => readFile(file).catch(() => Buffer.alloc(0))))).entries()) {
    hash.update(`${files[i].slice(root.length)}\0${bytes.length}\0`).update(bytes)
  }
  return hash.digest('hex')
}
