/** The examples of the documentation: blocks behind a mark, and shown output compared with what was printed. */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const COMMAND = /^(?:npm start(?: -s)?|npx freshet) (.+)$/gm

/** @param {string} page relative to the root */
export const readPage = (page) => readFile(`${ROOT}${page}`, 'utf8')

/** @param {string} page @param {string} name @returns {Promise<string[]>} the code blocks behind `<!-- example: name -->` */
export async function exampleOf (page, name) {
  const text = await readPage(page)
  const at = text.indexOf(`<!-- example: ${name} -->`)
  if (at < 0) throw new Error(`${page} has no example ${name}`)
  return [...text.slice(at).matchAll(/```\w*\n([\s\S]*?)```/g)].map(([, block]) => block)
}

/**
 * The commands of Freshet in a block, by name.
 * @param {string} block
 * @param {Record<string, string>} [places] paths, addresses and the like of the page, and those of the test
 * @returns {Record<string, string[]>} flags; without --redis-url, which the services of a test have anyway
 */
export const commandsIn = (block, places = {}) => Object.fromEntries([...block.matchAll(COMMAND)].map(([, line]) => {
  const text = Object.entries(places).reduce((one, [shown, used]) => one.replaceAll(shown, used), line)
  const [command, ...flags] = text.replace(/ --redis-url \S+/, '').split(' ').filter((word) => word !== '--')
  return [command, flags]
}))

/**
 * A block of curl commands for bash, with the addresses of a test.
 * @param {string} block @param {{ gateway?: { url: string }, reader?: { url: string } }} [services]
 */
export const shellOf = (block, { gateway, reader } = {}) => block.replace(/^curl/gm, 'curl -s -w "\\n"')
  .replaceAll('http://127.0.0.1:8081', gateway?.url ?? '').replaceAll('http://127.0.0.1:8080', reader?.url ?? '')

/**
 * Shown output as a pattern: `…` stands for any text, and the given times may differ.
 * @param {string} shown @param {string[]} [times] names of fields
 */
export function patternOf (shown, times = ['asOf']) {
  const text = shown.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '.*')
  return new RegExp(`^${text.replace(new RegExp(`"(${times.join('|')})":\\d{13}`, 'g'), '"$1":\\d{13}')}$`)
}
