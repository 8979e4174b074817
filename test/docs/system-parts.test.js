/** docs/system-parts.md has the parts of a system as the types of src/systems/definition.js describe them. */
import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import ts from 'typescript'

const PAGE = new URL('../../docs/system-parts.md', import.meta.url)
const SOURCE = new URL('../../src/systems/definition.js', import.meta.url)
const BEGIN = /(<!-- parts:[^\n]*-->\n)[\s\S]*?(<!-- \/parts -->)/
/** in the order in which a module is written */
const SHOWN = ['SystemData', 'Rule', 'CommandRoute', 'QueryRoute', 'Kept', 'StreamRoute', 'Setting', 'Handlers', 'Rows', 'Page', 'Demo',
  'OwnCommand', 'OwnQuery', 'GatewayParts', 'Waits', 'ReaderParts', 'ConsumerParts', 'EmbeddedServices', 'SystemOptions', 'Command',
  'Decision']

const oneLine = (/** @type {string} */ text) => text.replace(/\s*\n\s*\*?\s*/g, ' ').trim()
const cell = (/** @type {string} */ text) => oneLine(text).replaceAll('|', '\\|')
const comment = (/** @type {any} */ tag) => cell(ts.getTextOfJSDocComment(tag.comment) ?? '')

/** Objects that the file defines. @param {string} text @returns {Map<string, { about: string, rows: string[] }>} */
function typedefsOf (text) {
  const source = ts.createSourceFile('definition.js', text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS)
  const found = new Map()
  const nodes = [...source.statements, source.endOfFileToken]
  for (const doc of nodes.flatMap((node) => /** @type {any} */ (node).jsDoc ?? [])) {
    for (const tag of (doc.tags ?? []).filter(ts.isJSDocTypedefTag)) {
      const properties = tag.typeExpression?.jsDocPropertyTags
      if (!properties) continue
      found.set(tag.name.text, { about: oneLine(ts.getTextOfJSDocComment(doc.comment) ?? ''), rows: properties.map(rowOf) })
    }
  }
  return found
}

/** @param {any} property */
function rowOf (property) {
  const name = property.name.getText()
  const type = property.typeExpression ? cell(property.typeExpression.type.getText()) : ''
  return `| \`${name}\`${property.isBracketed ? '' : ' *'} | \`${type}\` | ${comment(property)} |`
}

t.test('docs/system-parts.md shows every part of a system as its type describes it', async (t) => {
  const [text, source] = await Promise.all([PAGE, SOURCE].map((file) => readFile(file, 'utf8')))
  const typedefs = typedefsOf(source)
  t.same(SHOWN.filter((name) => !typedefs.has(name)), [], 'these types exist')
  t.same([...typedefs.keys()].filter((name) => /Parts$|Route$|^Own(Command|Query)/.test(name) && !SHOWN.includes(name)), [], 'no part is left out')
  const sections = SHOWN.map((name) => {
    const { about, rows } = /** @type {any} */ (typedefs.get(name))
    return `## ${name}\n\n${about ? `${about}\n\n` : ''}| part | type | meaning |\n|---|---|---|\n${rows.join('\n')}\n`
  })
  const wanted = text.replace(BEGIN, (_, begin, end) => `${begin}\n${sections.join('\n')}\n${end}`)
  if (process.env.UPDATE_DOCS) await writeFile(PAGE, wanted)
  else t.equal(text, wanted, 'run npm test with UPDATE_DOCS=1 to write the page')
})
