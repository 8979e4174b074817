/**
 * Server-sent events as the HTML standard says they are read (9.2.6), line by line: written apart from src/client.js, so that
 * one does not share the faults of the other. It records fields that the standard does not have: the content of an item must
 * never become a field.
 */

/** @typedef {{ event: string, data: string, id: string }} Message `id`: the last event id, as of this event */

/**
 * @param {(message: Message) => void} onMessage
 */
export function createStandardParser (onMessage) {
  const decoder = new TextDecoder()
  /** fields that the standard does not have @type {string[]} */
  const unknownFields = []
  let line = ''
  let endedInCr = false
  let data = ''
  let event = ''
  let idBuffer = ''
  let lastEventId = ''
  /** @type {number | null} */
  let retryMs = null
  let comments = 0

  function dispatch () {
    lastEventId = idBuffer
    if (data !== '') onMessage({ event: event || 'message', data: data.endsWith('\n') ? data.slice(0, -1) : data, id: lastEventId })
    data = ''
    event = ''
  }

  /** @param {string} field @param {string} value */
  function take (field, value) {
    if (field === 'event') event = value
    else if (field === 'data') data += value + '\n'
    else if (field === 'id') {
      if (!value.includes('\0')) idBuffer = value
    } else if (field === 'retry') {
      if (/^[0-9]+$/.test(value)) retryMs = parseInt(value, 10)
    } else unknownFields.push(field)
  }

  function endLine () {
    const whole = line
    line = ''
    if (whole === '') return dispatch()
    const colon = whole.indexOf(':')
    if (colon === 0) comments++
    else if (colon < 0) take(whole, '')
    else take(whole.slice(0, colon), whole.slice(colon + (whole[colon + 1] === ' ' ? 2 : 1)))
  }

  return {
    unknownFields,
    get lastEventId () { return lastEventId },
    /** The last retry delay received, ms. */
    get retryMs () { return retryMs },
    get comments () { return comments },

    /** @param {Uint8Array} bytes however they are cut */
    push (bytes) {
      const text = decoder.decode(bytes, { stream: true })
      for (let at = 0; at < text.length;) {
        if (endedInCr && text[at] === '\n') at++
        endedInCr = false
        const rest = text.slice(at)
        const end = rest.search(/[\r\n]/)
        if (end < 0) {
          line += rest
          return
        }
        line += rest.slice(0, end)
        endedInCr = rest[end] === '\r'
        at += end + 1
        endLine()
      }
    }
  }
}
