/**
 * Finds the array of items among the tokens of a document: the document itself, or the field at a dotted path.
 *
 * `path` has the current key of every open container, '' for an array and before the first key. No part of the dotted path is empty,
 * so the joined path matches only keys of nested objects, and keys with dots. A key longer than the path is not kept whole.
 */
import { FreshetError } from '../../src/errors.js'

/** @typedef {import('stream-json/core/parser.js').Token} Token */

/** @type {Record<string, string>} */
export const KINDS = {
  startObject: 'an object',
  startArray: 'an array',
  startString: 'a string',
  startNumber: 'a number',
  nullValue: 'null',
  trueValue: 'true',
  falseValue: 'false'
}

/** @param {string | null} itemsField null = the document is the array */
export function createArrayFinder (itemsField) {
  const maxKeys = itemsField === null ? 0 : itemsField.split('.').length
  /** @type {string[]} */
  const path = []
  let inKey = false
  let hasItems = false

  /** @param {string} received */
  const invalid = (received) => new FreshetError('INPUT_INVALID', `the JSON input ${received}; ` + (itemsField === null
    ? 'expected an array of items; if an object holds the array, name its field with --items-field'
    : `expected an object with one array of items in field ${itemsField}; change --items-field, or omit it if the document is the array`),
  { itemsField })

  /** @param {string} kind @returns {boolean} whether this value is the array of items */
  function beginsItems (kind) {
    if (path.length > maxKeys) return false
    const atTop = path.length === 0
    if (atTop && kind !== KINDS.startObject && itemsField !== null) throw invalid(`is ${kind}`)
    if (path.join('.') !== (itemsField ?? '')) return false
    if (kind !== KINDS.startArray) throw invalid(atTop ? `is ${kind}` : `has ${kind} in field ${itemsField}`)
    if (hasItems) throw invalid(`has field ${itemsField} twice`)
    hasItems = true
    return true
  }

  /** @param {string} piece */
  function addToKey (piece) {
    const key = path[path.length - 1]
    if (itemsField !== null && key.length <= itemsField.length) path[path.length - 1] = key + piece
  }

  return {
    /** @param {Token} token outside of the items @returns {boolean} whether it starts their array */
    take (token) {
      const begins = Object.hasOwn(KINDS, token.name) && beginsItems(KINDS[token.name])
      if (token.name === 'startObject' || token.name === 'startArray') path.push('')
      else if (token.name === 'endObject' || token.name === 'endArray') path.pop()
      else if (token.name === 'startKey') path[path.length - 1] = ''
      else if (token.name === 'stringChunk' && inKey) addToKey(token.value)
      inKey = token.name === 'startKey' || (inKey && token.name === 'stringChunk')
      return begins
    },

    /** The document has ended. @throws {FreshetError} INPUT_INVALID there was no array of items */
    end () {
      if (!hasItems) throw invalid(`has no field ${itemsField}`)
    }
  }
}
