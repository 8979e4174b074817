/** The form of opaque text, of cursors and positions: base64url without padding. */

export const BASE64_PATTERN = '^[A-Za-z0-9_-]+$'

/** @param {number} bytes @returns {number} characters of so many bytes */
export const base64Length = (bytes) => Math.ceil(bytes * 4 / 3)
