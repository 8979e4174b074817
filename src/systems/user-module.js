/** Modules of users: systems, and sources of prices. */
import { execFile } from 'node:child_process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { asError } from '../errors.js'

const PLACE_WITHIN_MS = 5000

/**
 * @param {string} path from the working folder
 * @returns {Promise<Record<string, any>>} what it exports @throws {Error} why it cannot be loaded, with the place of a syntax error
 */
export async function importModule (path) {
  const url = String(pathToFileURL(path))
  return import(url).catch(async (thrown) => {
    throw new Error(`${await whereOf(thrown, url)}${asError(thrown).message}`)
  })
}

/**
 * Node.js names the place of a syntax error only where it ends a process.
 * @param {any} error @param {string} url of the module that was imported @returns {Promise<string>} file and line, or nothing
 */
async function whereOf (error, url) {
  if (!(error instanceof SyntaxError)) return ''
  const words = ['--input-type=module', '--eval', `import ${JSON.stringify(url)}`]
  const { stderr } = await promisify(execFile)(process.execPath, words, { timeout: PLACE_WITHIN_MS }).catch((failure) => failure)
  const [, file, line] = /^(file:\S+):(\d+)\n/.exec(stderr ?? '') ?? []
  return file === undefined ? '' : `${fileURLToPath(file)}, line ${line}: `
}
