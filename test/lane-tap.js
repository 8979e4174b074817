/** What `tap` is to the files of a lane: the subtest of the file that runs. @type {import('tap').Test} */
let test

/** @param {import('tap').Test} wanted */
export const setTest = (wanted) => { test = wanted }

export default /** @type {import('tap').TAP} */ (new Proxy({}, {
  get (_, name) {
    const value = /** @type {any} */ (test)[name]
    return typeof value === 'function' ? value.bind(test) : value
  },
  set: (_, name, value) => Reflect.set(test, name, value)
}))
