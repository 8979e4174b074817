/**
 * Makes the package `freshet-client`: `npm run client-package -- [FOLDER]`. It is the file that `freshet-feed/client` is, with its types,
 * alone and without dependencies, for programs that only follow a feed. Neither package depends on the other.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FILES = Object.freeze({
  'src/client.js': 'client.js', 'src/client.cjs': 'client.cjs', 'build/client/README.md': 'README.md', LICENSE: 'LICENSE'
})
const TYPES = Object.freeze(['--declaration', '--emitDeclarationOnly', '--allowJs', '--noCheck', '--ignoreConfig', '--target', 'es2023',
  '--lib', 'es2024,dom'])

/** @param {{ version: string, license: string, engines: object, repository?: object }} of that of freshet-feed */
const manifestOf = ({ version, license, engines, repository }) => ({
  name: 'freshet-client',
  version,
  description: 'Follows a feed of Freshet over HTTP: a snapshot, then changes, resumed after lost connections. No dependencies',
  keywords: ['freshet', 'server-sent events', 'sse', 'feed', 'client'],
  license,
  ...(repository && { repository }),
  type: 'module',
  exports: {
    '.': {
      types: './client.d.ts', 'module-sync': './client.js', module: './client.js', require: './client.cjs', default: './client.js'
    },
    './package.json': './package.json'
  },
  files: ['client.js', 'client.cjs', 'client.d.ts'],
  sideEffects: false,
  engines
})

/** @param {string} folder is emptied first @returns {string} the folder, to pack or publish */
export function makeClient (folder) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [from, to] of Object.entries(FILES)) copyFileSync(join(ROOT, from), join(folder, to))
  const manifest = manifestOf(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')))
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, ...TYPES, '--outDir', folder, join(ROOT, 'src/client.js')], { stdio: 'inherit' })
  return folder
}

if (import.meta.filename === process.argv[1]) {
  process.stdout.write(`${makeClient(resolve(process.argv[2] ?? join(ROOT, '.freshet/freshet-client')))}\n`)
}
