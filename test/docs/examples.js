/** The examples of the documentation: blocks behind a mark, and shown output compared with what was printed. */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** @param {string} page relative to the root */
export const readPage = (page) => readFile(`${ROOT}${page}`, 'utf8')

/** @param {string} page @param {string} name @returns {Promise<string[]>} the code blocks behind `<!-- example: name -->` */
export async function exampleOf (page, name) {
  const text = await readPage(page)
  const at = text.indexOf(`<!-- example: ${name} -->`)
  if (at < 0) throw new Error(`${page} has no example ${name}`)
  return [...text.slice(at).matchAll(/```(?:js|ts)?\n([\s\S]*?)```/g)].map(([, block]) => block)
}

/**
 * Shown output as a pattern: `…` stands for any text, and the given times may differ.
 * @param {string} shown @param {string[]} [times] names of fields
 */
export function patternOf (shown, times = ['asOf']) {
  const text = shown.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '.*')
  return new RegExp(`^${text.replace(new RegExp(`"(${times.join('|')})":\\d{13}`, 'g'), '"$1":\\d{13}')}$`)
}
