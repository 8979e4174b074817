/**
 * Kinds of values. A check takes the text of a value and answers the value, or throws; `why` of what it throws names the part
 * that is wrong, where the value itself is not shown.
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

/** @param {string} why the part that is wrong, without what is secret of it @returns {Error} */
const wrong = (why) => Object.assign(new RangeError(), { why })

/** @type {Check} */
export const serverUrl = {
  expects: 'redis://[user:password@]host[:port], or rediss://... for TLS, with ?ca=FILE&cert=FILE&key=FILE if need be',
  read (text) {
    if (!/^rediss?:\/\//i.test(text.trim())) throw wrong('it does not begin with redis:// or rediss://')
    if (!URL.canParse(text)) throw wrong('its host or port cannot be read')
    const url = new URL(text)
    if (!url.hostname) throw wrong('it names no host')
    // a plain / in a password ends the host too early: what follows would pass for the path, and be shown as that
    if ((url.pathname + url.hash).includes('@')) throw wrong('it has an @ behind the host; in a password write / ? # as %2F %3F %23')
    for (const name of url.searchParams.keys()) {
      // a plain ? in a password does the same, so the name may be a part of one
      const field = /^[\w.-]{1,40}$/.test(name) && !url.search.includes('@') ? `the field ${name}` : 'a field'
      if (!TLS_FILES.includes(name)) throw wrong(`its query has ${field}, which is none of ${TLS_FILES.join(', ')}`)
      if (url.protocol === 'redis:') throw wrong(`its query has ${field}, which is for rediss://`)
    }
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
