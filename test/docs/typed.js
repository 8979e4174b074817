/** What JSDoc says about objects and classes, as tables of Markdown: for reference pages that are written from the source. */
import { readFile, writeFile } from 'node:fs/promises'
import ts from 'typescript'
import { ROOT } from './examples.js'

const oneLine = (/** @type {string} */ text) => text.replace(/\s*\n\s*\*?\s*/g, ' ').trim()
const cell = (/** @type {string} */ text) => oneLine(text).replaceAll('|', '\\|').replace(/import\('[^']*'\)\./g, '')
const commentOf = (/** @type {any} */ tag) => cell(ts.getTextOfJSDocComment(tag?.comment) ?? '')
const typeOf = (/** @type {any} */ tag) => tag?.typeExpression ? cell(tag.typeExpression.type.getText()) : ''
const code = (/** @type {string} */ text) => text && `\`${text}\``

/** @typedef {{ about: string, table: string, members?: string[] }} Section */

/** @param {any} property */
function rowOf (property) {
  return `| ${code(property.name.getText())}${property.isBracketed ? '' : ' *'} | ${code(typeOf(property))} | ${commentOf(property)} |`
}

/** A method, or a field that is a function. @param {any} member */
function memberRow (member) {
  const doc = member.jsDoc?.at(-1)
  const tags = doc?.tags ?? []
  const given = tags.filter(ts.isJSDocParameterTag)
  const params = given.map((/** @type {any} */ tag) => `${tag.name.getText()}${tag.isBracketed ? '?' : ''}: ${typeOf(tag)}`)
  const [returns, type, thrown] = [ts.isJSDocReturnTag, ts.isJSDocTypeTag, ts.isJSDocThrowsTag].map((is) => tags.find(is))
  const isField = ts.isGetAccessorDeclaration(member)
  const signature = type ? typeOf(type) : `${isField ? '' : `(${params.join(', ')})`}${isField ? '' : ' => '}${typeOf(returns)}`
  const about = [commentOf(doc), ...given.map((/** @type {any} */ tag) =>
    commentOf(tag) && `\`${tag.name.getText()}\`: ${commentOf(tag)}`), commentOf(returns) && `Returns: ${commentOf(returns)}`]
  const sentences = about.filter(Boolean).map((text) => /[.:]$/.test(text) ? text : `${text}.`).join(' ')
  return `| ${code(member.name.getText())} | ${code(signature)} | ${sentences} | ${commentOf(thrown)} |`
}

/** Objects and classes of a file, by name. @param {string} file relative to the root @returns {Promise<Map<string, Section>>} */
export async function typesOf (file) {
  const source = ts.createSourceFile(file, await readFile(`${ROOT}${file}`, 'utf8'), ts.ScriptTarget.Latest, true, ts.ScriptKind.JS)
  /** @type {Map<string, Section>} */
  const found = new Map()
  for (const node of [...source.statements, source.endOfFileToken]) {
    for (const doc of /** @type {any} */ (node).jsDoc ?? []) {
      for (const tag of (doc.tags ?? []).filter(ts.isJSDocTypedefTag)) {
        const properties = tag.typeExpression?.jsDocPropertyTags
        if (!properties) continue
        const rows = ['| part | type | meaning |', '|---|---|---|', ...properties.map(rowOf)]
        found.set(tag.name.text, { about: oneLine(ts.getTextOfJSDocComment(doc.comment) ?? ''), table: rows.join('\n') })
      }
    }
    if (!ts.isClassDeclaration(node) || !node.name) continue
    const members = node.members.filter((/** @type {any} */ one) => one.name && !ts.isPrivateIdentifier(one.name) && one.jsDoc)
    const about = oneLine(String(ts.getTextOfJSDocComment(/** @type {any} */ (node).jsDoc?.at(-1)?.comment) ?? ''))
    const rows = ['| member | type | what it does | errors |', '|---|---|---|---|', ...members.map(memberRow)]
    found.set(node.name.text, { about, table: rows.join('\n') })
  }
  return found
}

/**
 * Compares a page, between its marks, with sections of the source; with UPDATE_DOCS it writes them.
 * @param {import('tap').Test} t @param {string} page @param {string} mark @param {[string, string[]][]} shown names by file, in their order
 */
export async function checkPage (t, page, mark, shown) {
  const sections = await Promise.all(shown.map(async ([file, names]) => {
    const types = await typesOf(file)
    return names.map((name) => {
      const { about, table } = types.get(name) ?? {}
      t.ok(table, `${file}: ${name}`)
      return `## ${name}\n\n${about ? `${about}\n\n` : ''}${table}\n`
    })
  }))
  const text = await readFile(`${ROOT}${page}`, 'utf8')
  const marks = new RegExp(`(<!-- ${mark}:[^\\n]*-->\\n)[\\s\\S]*?(<!-- \\/${mark} -->)`)
  const wanted = text.replace(marks, (_, begin, end) => `${begin}\n${sections.flat().join('\n')}\n${end}`)
  if (process.env.UPDATE_DOCS) await writeFile(`${ROOT}${page}`, wanted)
  else t.equal(text, wanted, 'run npm test with UPDATE_DOCS=1 to write the page')
}
