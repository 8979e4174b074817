/** JSON as people and programs write it: white space anywhere, escapes, numbers that no double holds. For fast-check. */
import fc from 'fast-check'

export const anySpace = fc.oneof({ weight: 3, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.constantFrom(' ', '\n', '\r\n', '\t', '  \n\t ') })

const escaped = (/** @type {string} */ unit) =>
  [...Array(unit.length).keys()].map((i) => '\\u' + unit.charCodeAt(i).toString(16).padStart(4, '0')).join('')

/** Text of a string: as it is, or some of its characters as escapes. */
export const stringText = fc.array(fc.tuple(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 2 }), fc.boolean()), { maxLength: 6 })
  .map((parts) => '"' + parts.map(([text, escape]) => escape ? escaped(text) : JSON.stringify(text).slice(1, -1)).join('') + '"')

const marks = fc.constantFrom('"\\\\"', '"\\""', '"{"', '"]}"', '"a,b:c"', '"\\/"', '"\\\\\\""', '""', '"\\ud800"', '"[\\\\"', '"é€😀"')
const numberText = fc.oneof(
  fc.constantFrom('0', '-0', '1.10', '12345678901234567890', '1e400', '-1.5E-7', '0.1e+2'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => JSON.stringify(n)),
  fc.integer().map(String))
const leaf = fc.oneof(stringText, marks, numberText, fc.constantFrom('null', 'true', 'false', '{}', '[]', '{ }', '[\n]'))

/** @param {fc.Arbitrary<string>} inner */
const separated = (inner) =>
  fc.array(fc.tuple(anySpace, inner, anySpace).map((parts) => parts.join('')), { maxLength: 4 }).map((parts) => parts.join(','))

/** Text of any JSON value, without white space around it. */
export const valueText = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, leaf, tie('array'), tie('object')),
  array: separated(/** @type {any} */ (tie('value'))).map((inner) => `[${inner}]`),
  object: separated(fc.tuple(stringText, anySpace, anySpace, /** @type {any} */ (tie('value'))).map(([key, before, after, value]) =>
    `${key}${before}:${after}${value}`)).map((inner) => `{${inner}}`)
})).value

/** Members in any order, with white space anywhere. @param {[name: string, text: string][]} members @param {string} space */
export const objectText = (members, space) =>
  `{${members.map(([name, text]) => `${space}${JSON.stringify(name)}${space}:${space}${text}${space}`).join(',')}}`
