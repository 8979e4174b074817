/** docs/settings.md has the settings as the table in settings.js has them. */
import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { SETTINGS, envOf, flagOf } from '../../settings.js'
import { layoutNames } from '../../src/layouts/index.js'
import { ackNames } from '../../src/pipeline/index.js'

const PAGE = new URL('../../docs/settings.md', import.meta.url)
const BEGIN = /(<!-- settings:[^\n]*-->\n)[\s\S]*?(<!-- \/settings -->)/

/** A table for each group of settings. */
function tables () {
  const groups = [...new Set(SETTINGS.map(({ group }) => group))]
  return groups.map((group) => [
    `### ${group}\n`,
    '| flag | meaning | default | expected | environment | used by |',
    '|---|---|---|---|---|---|',
    ...SETTINGS.filter((row) => row.group === group).map(rowOf)
  ].join('\n')).join('\n\n') + '\n'
}

const code = (/** @type {string} */ text) => `\`${text}\``

/** @param {typeof SETTINGS[number]} row */
function rowOf (row) {
  const { expects: of } = row.check
  const expects = typeof of === 'string' ? of : of({ command: '', layouts: layoutNames(), acks: ackNames() })
  const others = Object.entries(row.defaults ?? {}).map(([command, value]) => `${command}: ${value ?? 'none'}`)
  const shown = [row.default === null ? '' : String(row.default), others.length ? `(${others.join(', ')})` : ''].join(' ').trim()
  const variable = envOf(row)
  const expected = expects.replaceAll('|', '\\|') + (row.unit ? ` (${row.unit})` : '')
  const cells = [code(`--${flagOf(row.name)}`), row.meaning, shown, expected, variable ? code(variable) : '', row.uses.join(' ')]
  return `| ${cells.join(' | ')} |`
}

t.test('docs/settings.md shows every setting as the table has it', async (t) => {
  const text = await readFile(PAGE, 'utf8')
  const wanted = text.replace(BEGIN, (_, begin, end) => begin + tables() + end)
  if (process.env.UPDATE_DOCS) await writeFile(PAGE, wanted)
  else t.equal(text, wanted, 'run npm test with UPDATE_DOCS=1 to write the tables')
})

t.test('every setting has its own flag and variable', async (t) => {
  for (const of of [(row) => flagOf(row.name), envOf]) {
    const byCommand = SETTINGS.filter(of).flatMap((row) => row.uses.map((command) => `${command} ${of(row)}`))
    t.equal(new Set(byCommand).size, byCommand.length)
  }
})
