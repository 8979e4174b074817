/** What definitions are written with: fields of bodies and queries, JSON Schema of replies, rows of queries. docs/own-systems.md. */
import {
  bodySchema, choiceField, field, flagField, ID_TEXT, idField, integer, invalidFields, millisField, number, oneOf, optional, readFields,
  required, text, textField, timeField, wholeField
} from '../fields/index.js'
import { moneyField } from './money.js'
import {
  AMOUNT, byRequestRow, COUNT, dueRow, GENERATION, historyRow, idQuery, limitField, listOf, NULLABLE_AMOUNT, objectOf, pageFields, pageOf,
  queryOfUser, SEQ, sinceFields, TIME, waitField
} from './schemas.js'

/** Fields of bodies; `query`: of queries. */
export const fields = Object.freeze({
  id: idField,
  time: timeField,
  millis: millisField,
  whole: wholeField,
  text: textField,
  choice: choiceField,
  flag: flagField,
  money: moneyField,
  own: field,
  schemaOf: bodySchema,
  read: readFields,
  optional,
  invalid: invalidFields,
  query: Object.freeze({
    id: idQuery, integer, number, oneOf, text, required, wait: waitField, page: pageFields, limit: limitField, since: sinceFields
  })
})

/** JSON Schema of replies. */
export const schemas = Object.freeze({
  id: ID_TEXT,
  amount: AMOUNT,
  nullableAmount: NULLABLE_AMOUNT,
  time: TIME,
  count: COUNT,
  seq: SEQ,
  generation: GENERATION,
  objectOf,
  listOf,
  pageOf
})

/** Rows of queries. */
export const queries = Object.freeze({ due: dueRow, history: historyRow, byRequest: byRequestRow, ofUser: queryOfUser })

/**
 * Rows as arrays of columns, for unnest.
 * @template T @param {T[]} rows at least one @param {(row: T) => unknown[]} cells @returns {unknown[][]}
 */
export function columnsOf (rows, cells) {
  const all = rows.map(cells)
  return all[0].map((_, i) => all.map((row) => row[i]))
}
