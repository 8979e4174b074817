/** Fields of commands: what a schema allows is what is taken; and the detail of an error of servers. */
import t from 'tap'
import { textField, timeField } from '../../src/fields/index.js'
import { problemOf } from '../../src/http/index.js'
import { FreshetError } from '../../src/errors.js'
import { moneyField } from '../../src/systems/money.js'

/** @param {any} schema with `anyOf` of texts and numbers @param {string | number} value */
const allows = ({ anyOf: [text, number] }, value) => typeof value === 'string'
  ? new RegExp(text.pattern).test(value)
  : value >= number.minimum && value <= number.maximum

t.test('an amount of 0 is neither allowed by the schema nor taken', async (t) => {
  const { schema, read } = moneyField('')
  const amounts = ['0', '0.0', '0.00', '00.00', 0, 0.01, '0.01', '0.10', '00.5', '10', 10, '10.', '.5', '1.005', '89999999999999.99',
    '99999999999999', 9e13, 9.1e13]
  for (const amount of amounts) t.equal(allows(schema, amount), read(amount) !== null, String(amount))
})

t.test('a name may have any character but blanks alone, and character 0', async (t) => {
  const { schema, read } = textField(200)('')
  const names = ['\u2028', 'a\u2028b', '\u2029', 'ann', ' a ', '  ', '\n', '', 'a\0', '\ufeff']
  for (const name of names) t.equal(new RegExp(String(schema.pattern)).test(name), read(name) !== null, JSON.stringify(name))
  t.same(names.filter((name) => read(name) === null), ['  ', '\n', '', 'a\0'])
})

t.test('seconds are named', async (t) => {
  const { read, expects } = timeField('')
  t.same([0, 9_999_999, 1_795_405_654_277].map(read), [0, 9_999_999, 1_795_405_654_277])
  t.equal(read(1_795_405_654), null)
  const expected = /** @type {(value: unknown) => string} */ (expects)
  t.match(expected(1_795_405_654), /looks like seconds: multiply by 1000/)
  t.notMatch(expected('soon'), /looks like/)
})

t.test('servers are not said to be of a feed, since systems use them, too', async (t) => {
  for (const code of ['SERVER_UNREACHABLE', 'SERVER_REFUSED']) t.match(problemOf(new FreshetError(code, '')).detail, /^the servers are un/)
})
