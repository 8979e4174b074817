/**
 * Writes src/client.js, the files of src/client/ as one module: `npm run client`. A browser loads it as it is, with one request.
 */
import { readFileSync, writeFileSync } from 'node:fs'

const FOLDER = new URL('../src/client/', import.meta.url)
export const MODULE = new URL('../src/client.js', import.meta.url)
/** what a file imports comes before it */
const FILES = ['options', 'connection', 'index']
const NOTE = '// Written from src/client/ by `npm run client`; change the files there.\n'

/** A file without its imports, and what the others import from it is not exported. @param {string} file @param {readonly string[]} names */
function bodyOf (file, names) {
  return readFileSync(new URL(`${file}.js`, FOLDER), 'utf8')
    .replace(/^import [^]*? from '[^']+'\n/gm, '')
    .replace(/^\/\*\* @import .*\n\n?/gm, '')
    .replace(/^export \{.*\n/gm, '')
    .replace(/import\('\.\/\w+\.js'\)\./g, '')
    .replace(/^export (?=(?:async )?(?:const|class|function)[ *]+(\w+))/gm, (word, name) => names.includes(name) ? word : '')
    .trim()
}

/** @returns {string} the module */
export function moduleText () {
  const index = readFileSync(new URL('index.js', FOLDER), 'utf8')
  const names = [...index.matchAll(/^export (?:\{ (\w+) \}|const (\w+))/gm)].map(([, again, own]) => again ?? own)
  const bodies = FILES.map((file) => bodyOf(file, names))
  const [head, body] = [/^\/\*\*[^]*?\*\/\n/.exec(index)?.[0] ?? '', bodies.pop() ?? '']
  return [head + NOTE, ...bodies, body.slice(head.length).trim()].join('\n\n').replace(/\n{3,}/g, '\n\n') + '\n'
}

if (import.meta.filename === process.argv[1]) writeFileSync(MODULE, moduleText())
