/**
 * Files that are read again within a second when they change, so that they can be replaced while the process runs. If they
 * cannot be read, or their content is invalid, that is logged once, and the content read before stays in use.
 */
import { readFile, stat } from 'node:fs/promises'
import { FreshetError } from '../errors.js'

const CHECK_MS = 500

/** @typedef {{ close: () => void }} Watched */

/** Differs whenever a file does, or a link points to another file. @param {readonly string[]} files */
const versionOf = async (files) => (await Promise.all(files.map(async (file) => {
  const { mtimeMs, ctimeMs, size, ino } = await stat(file)
  return `${mtimeMs} ${ctimeMs} ${size} ${ino}`
}))).join()

/**
 * @template T
 * @param {readonly string[]} files
 * @param {object} options
 * @param {string} options.what for the log @param {string} options.code of the error if a file cannot be read
 * @param {string} options.expected for that error
 * @param {(...texts: string[]) => T} options.parse may throw a FreshetError
 * @param {(content: T) => void} options.apply @param {import('pino').Logger} options.log
 * @returns {Promise<Watched>} when `apply` was called for the first time
 * @throws {FreshetError} `code`, or that of `parse`
 */
export async function watchFiles (files, { what, code, expected, parse, apply, log }) {
  const read = () => Promise.all(files.map((file) => readFile(file, 'utf8').catch((error) => {
    throw new FreshetError(code, `${file} cannot be read (${error.code}); expected ${expected}`)
  })))
  let lastFault = ''
  let isChecking = false
  let wasEmpty = false
  let version = await versionOf(files).catch(() => '')
  apply(parse(...await read()))

  async function check () {
    if (isChecking) return
    isChecking = true
    try {
      const newVersion = await versionOf(files)
      if (newVersion === version) return
      const texts = await read()
      // while a file is being written, wait for the next check; programs also empty it before they write
      if (await versionOf(files) !== newVersion) return
      const isEmptied = !wasEmpty && texts.some((text) => text.trim() === '')
      wasEmpty = isEmptied
      if (isEmptied) return
      apply(parse(...texts))
      version = newVersion
      lastFault = ''
      log.info(`${what} reloaded`)
    } catch (error) {
      if (error.message !== lastFault) {
        log.error({ code: error.code, reason: error.message }, `${what} not reloaded; the content read before stays in use`)
      }
      lastFault = error.message
    } finally {
      isChecking = false
    }
  }
  const timer = setInterval(check, CHECK_MS).unref()
  return { close: () => clearInterval(timer) }
}
