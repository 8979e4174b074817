/**
 * Kinds of values. A check takes the text of a value and answers the value, or throws.
 *
 * @typedef {{ expects: string | ((known: Known) => string), read: (text: string, known: Known) => unknown,
 *   flagOnly?: boolean, isFlags?: boolean }} Check `flagOnly`: the flag has no value; `isFlags`: the value is flags itself
 * @typedef {{ command: string, layouts: string[], acks: string[] }} Known what the rest of the program has
 */

/** @type {(low: number, high: number) => Check} */
export const integer = (low, high) => ({
  expects: `an integer from ${low.toLocaleString('en')} to ${high.toLocaleString('en')}`,
  read (text) {
    const value = /^\d+$/.test(text) ? Number(text) : NaN
    if (!(value >= low && value <= high)) throw new RangeError()
    return value
  }
})

/** @type {(low: number, high: number) => Check} */
export const number = (low, high) => ({
  expects: `a number from ${low} to ${high.toLocaleString('en')}`,
  read (text) {
    const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN
    if (!(value >= low && value <= high)) throw new RangeError()
    return value
  }
})

/** @type {(...words: string[]) => Check} */
export const oneOf = (...words) => ({
  expects: words.join(' | '),
  read (text) {
    if (!words.includes(text)) throw new RangeError()
    return text
  }
})

/** @type {(expects: string, pattern: RegExp) => Check} */
export const matching = (expects, pattern) => ({
  expects,
  read (text) {
    if (!pattern.test(text)) throw new RangeError()
    return text
  }
})

/** @type {(of: 'layouts' | 'acks') => Check} */
export const oneOfKnown = (of) => ({
  expects: (known) => known[of].join(' | '),
  read (text, known) {
    if (!known[of].includes(text)) throw new RangeError()
    return text
  }
})

/** of an address: files of an authority, and of a certificate and key of one's own */
const TLS_FILES = ['ca', 'cert', 'key']

/** @type {Check} */
export const serverUrl = {
  expects: 'redis://[user:password@]host[:port], or rediss://... for TLS, with ?ca=FILE&cert=FILE&key=FILE if need be',
  read (text) {
    const url = new URL(text)
    if (!['redis:', 'rediss:'].includes(url.protocol) || !url.hostname) throw new RangeError()
    // a plain / in a password ends the host too early: what follows would pass for the path, and be shown as that
    if ((url.pathname + url.hash).includes('@')) throw new RangeError()
    const files = [...url.searchParams.keys()]
    if (files.some((name) => !TLS_FILES.includes(name)) || (files.length && url.protocol === 'redis:')) throw new RangeError()
    return text
  }
}

/** @type {Check} */
export const serverUrls = {
  expects: 'one or more redis:// addresses, separated by commas',
  read: (text, known) => text.split(',').map((one) => serverUrl.read(one.trim(), known))
}

/** @type {Check} */
export const httpUrl = {
  expects: 'http://host[:port], or https://...',
  read (text) {
    const url = new URL(text)
    if (!['http:', 'https:'].includes(url.protocol) || url.username || url.password || url.search || url.hash) throw new RangeError()
    return text
  }
}

/** @type {Check} */
export const trueOrFalse = { expects: 'true | false', read: (text, known) => oneOf('true', 'false').read(text, known) === 'true' }

/** @type {Check} */
export const present = { ...trueOrFalse, flagOnly: true }

/** @type {Check} */
export const writerFlags = { ...matching('flags of the writer in quotes, such as "--layout values --batch-ms 10"', /\S/), isFlags: true }

export const FIELD = matching('a field, dotted for a nested one, such as properties.time', /^[^.\s]+(\.[^.\s]+)*$/)

/** @param {Check} check @param {Known} known @returns {string} what it takes */
export const expected = ({ expects }, known) => typeof expects === 'string' ? expects : expects(known)
