/** What the synthetic source leaves behind: item k, from 0, has id k mod `ids` and a value that says k + 1. */

/** @param {{ items: number, ids: number }} run @returns {[string, number][]} each id with the number of its newest version */
export const newestOf = ({ items, ids }) => Array.from({ length: Math.min(items, ids) }, (_, k) => [`id-${k}`, k + 1 + ids * Math.floor((items - 1 - k) / ids)])

/** @param {{ id: string, value: any }[]} items read with encoding=json @returns {[string, number][]} in the order of the ids */
export const numbersOf = (items) => items.map(({ id, value }) => /** @type {[string, number]} */ ([id, Number(value.n)]))
  .sort(([a], [b]) => Number(a.slice(3)) - Number(b.slice(3)))
