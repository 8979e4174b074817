/**
 * Writes src/store/lua.js, the scripts of lua/ as one module: `npm run lua`. A program that is bundled has no folder of scripts beside it.
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'

const FOLDER = new URL('../lua/', import.meta.url)
export const MODULE = new URL('../src/store/lua.js', import.meta.url)

/** A text as a template literal, so that a change of a script is a change of the same lines. @param {string} text */
const literalOf = (text) => `\`${text.replace(/[\\`]|\$\{/g, '\\$&')}\``

/** @returns {string} the module */
export function moduleText () {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.lua')).sort()
  const entries = files.map((file) =>
    `  '${file.slice(0, -'.lua'.length)}': ${literalOf(readFileSync(new URL(file, FOLDER), 'utf8'))}`)
  return '/**\n * Written from lua/ by `npm run lua`; change the files there. Names are those of the files, without their ending.\n' +
    ' * @type {Readonly<Record<string, string>>}\n */\n' +
    `export const LUA = Object.freeze({\n${entries.join(',\n')}\n})\n`
}

if (import.meta.filename === process.argv[1]) writeFileSync(MODULE, moduleText())
