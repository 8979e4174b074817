/**
 * The source as text, and what its files import.
 */
import { readFile, readdir } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FOLDERS = ['src', 'lab', 'bin', 'demo', 'writers', 'readers', 'experiments', 'charts', 'infra']
/** @type {RegExp} `import x from 'y'`, `export x from 'y'`, `import 'y'`, `import('y')` */
const IMPORT = /(?:^\s*(?:import|export)\s[^'"]*?from\s*|^\s*import\s*|\bimport\()['"]([^'"]+)['"]/gm

/** @returns {Promise<{ file: string, text: string }[]>} ours, relative to the root; readers/page runs in a browser */
export async function sourceFiles () {
  const listed = await Promise.all(FOLDERS.map(async (folder) => {
    const names = await readdir(join(ROOT, folder), { recursive: true }).catch(() => [])
    return names.map((name) => join(folder, name))
  }))
  const isSource = (/** @type {string} */ file) => file.endsWith('.js') && !/^readers\/page\/|node_modules/.test(file)
  const files = ['settings.js', ...listed.flat()].filter(isSource).sort()
  return Promise.all(files.map(async (file) => ({ file, text: await readFile(join(ROOT, file), 'utf8') })))
}

/** @returns {Promise<string[]>} folders of ours, relative to the root */
export async function folders () {
  const listed = await Promise.all([...FOLDERS, 'test', 'docs', 'lua'].map(async (folder) => {
    const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true }).catch(() => [])
    return [folder, ...entries.filter((entry) => entry.isDirectory()).map((entry) => join(entry.parentPath ?? entry.path, entry.name))]
  }))
  return listed.flat().filter((folder) => !folder.includes('node_modules'))
}

/** @param {string} text */
export const withoutComments = (text) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')

/**
 * @param {{ file: string, text: string }} source
 * @returns {string[]} files of ours relative to the root, else names of packages
 */
export const importsOf = ({ file, text }) => [...withoutComments(text).matchAll(IMPORT)].map(([, name]) =>
  name.startsWith('.') ? normalize(join(dirname(file), name)) : name)
